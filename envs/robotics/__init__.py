"""Robotics."""
