from tests.html_reader import read as read
