"""Tests in a browser: one server, one model and one Chromium live as long as this folder runs."""
