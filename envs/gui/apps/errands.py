"""Goals that need more than one app: what is asked in one is written in another, or must first be switched on there."""

from dataclasses import replace

import numpy as np

from ..goals import Goal, State, Template, change, phrase, pick
from .contacts import Contact, Contacts
from .contacts_goals import call_task, to
from .settings_goals import has, join_task, joined, switch_task
from .shop import PAYMENTS, Line, Shop, some_line
from .shop_goals import ORDERS, add_task, order_tasks, spoken


def _order_to(rng: np.random.Generator, state: State) -> Goal:
    """The address is in the contacts."""
    shop: Shop = state["shop"]
    contact: Contact = pick(rng, state["contacts"].contacts)
    line = some_line(rng, pick(rng, shop.products), int(rng.integers(1, 4)))
    payment = pick(rng, PAYMENTS)
    final = shop.adding(line).ordering(contact.name, contact.street, contact.city, payment)
    wordings = (
        "Order {w} to the address of {n} in your contacts, and pay by {p}",
        "Buy {w} for {n} (the address is in Phone), paying by {p}",
    )
    text = phrase(rng, wordings, w=spoken(line), n=contact.name, p=payment.lower())
    tasks = order_tasks(line, final, contact.name, contact.street, contact.city, payment)
    asked = spoken(line), contact.name, payment
    return Goal(text, {**state, "shop": final}, tasks, look=("contacts", to(contact)), asked=asked)


def _call_recipient(rng: np.random.Generator, state: State) -> Goal:
    """The person is named in an order."""
    shop: Shop = state["shop"]
    book: Contacts = state["contacts"]
    order, contact = pick(rng, shop.orders), pick(rng, book.contacts)
    sent = replace(order, name=contact.name, street=contact.street, city=contact.city)
    orders = tuple(sent if one == order else one for one in shop.orders)
    state["shop"] = replace(shop, orders=orders)
    expected = book.calling(contact.number)
    wordings = (
        "Call the person to whom order {n} in the Shop was sent",
        "Look up who gets Shop order {n}, then call them",
    )
    text = phrase(rng, wordings, n=order.number)
    look = ("shop", ORDERS, (f"Order {order.number}", "order", order.number))
    task = call_task(contact, expected)
    return Goal(text, {**state, "contacts": expected}, (task,), look=look, asked=(order.number,))


def _fly_then_call(rng: np.random.Generator, state: State) -> Goal:
    """Calls need airplane mode off."""
    state.update(change(state, "settings", airplane=True))
    contact: Contact = pick(rng, state["contacts"].contacts)
    book = state["contacts"].calling(contact.number)
    expected = {**change(state, "settings", airplane=False), "contacts": book}
    wordings = ("Turn off airplane mode, then call {n}", "The phone is in airplane mode: turn that off and call {n}")
    tasks = switch_task("airplane", False), call_task(contact, book)
    return Goal(phrase(rng, wordings, n=contact.name), expected, tasks, asked=(contact.name,))


def _join_then_shop(rng: np.random.Generator, state: State) -> Goal:
    """The shop needs the internet."""
    settings = replace(state["settings"], network="", mobile_data=False)
    state["settings"] = settings
    network = pick(rng, [n for n in settings.networks if n.password and not n.saved])
    line: Line = some_line(rng, pick(rng, state["shop"].products), int(rng.integers(1, 3)))
    shop = state["shop"].adding(line)
    expected = {**joined(state, network), "shop": shop}
    wordings = ("Join the Wi-Fi {n} (password {p}) and put {w} into the cart of the Shop",)
    text = phrase(rng, wordings, n=network.name, p=network.password, w=spoken(line))
    tasks = join_task(network), add_task(line, lambda now: now.cart == shop.cart)
    return Goal(text, expected, tasks, asked=(network.name, network.password, spoken(line)))


def _quiet_call(rng: np.random.Generator, state: State) -> Goal:
    """Two unrelated things, one after the other."""
    want = bool(rng.integers(2))
    state.update(change(state, "settings", do_not_disturb=not want))
    contact: Contact = pick(rng, state["contacts"].contacts)
    book = state["contacts"].calling(contact.number)
    expected = {**change(state, "settings", do_not_disturb=want), "contacts": book}
    text = f"Turn {'on' if want else 'off'} do not disturb, then call {contact.name}"
    assert not has(do_not_disturb=want)(state)
    tasks = switch_task("do_not_disturb", want), call_task(contact, book)
    return Goal(text, expected, tasks, asked=(want, contact.name))


GOALS = (
    Template("errand_order_to_contact", 3, ("contacts", "shop"), _order_to),
    Template("errand_call_recipient", 3, ("contacts", "shop"), _call_recipient),
    Template("errand_airplane_call", 3, ("contacts", "settings"), _fly_then_call),
    Template("errand_join_and_shop", 3, ("settings", "shop"), _join_then_shop),
    Template("errand_quiet_call", 3, ("contacts", "settings"), _quiet_call),
)
