"""Tests in a browser. One server, one model and one Chromium are shared by all tests of this folder."""
