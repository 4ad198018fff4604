"""The phone in a real browser: the same declarations as JSON, interpreted by JavaScript, driven over Chrome's protocol."""
