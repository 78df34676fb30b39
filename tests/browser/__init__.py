"""Tests in a real browser. As a package it has one Chromium, which ends with its last test."""
