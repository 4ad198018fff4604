"""What an environment raises."""


class InvalidAction(ValueError):
    """An action outside the action space; the message says what was got and what is allowed, the state is untouched."""
