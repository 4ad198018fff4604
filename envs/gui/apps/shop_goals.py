"""Goals of the shop, each with its expected state and the expert's way there."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..expert import Hop, ScriptedExpert
from ..goals import Goal, State, Task, Template, phrase, pick, swap
from ..words import CITIES, people, streets
from .shop import ADDRESS, MOST, PAYMENTS, Line, Product, Shop, some_line

ORDERS: Hop = ("Orders", "orders", None)


def reached(shop: Shop) -> Callable[[State], bool]:
    """A check that the shop is in this state."""
    return lambda state: bool(state["shop"] == shop)


def _goal(text: str, state: State, shop: Shop, *tasks: Task, asked: tuple[object, ...]) -> Goal:
    return Goal(text, {**state, "shop": shop}, tasks, asked=asked)


def to(product: Product | str) -> Hop:
    """The hop from a list of products to one of them."""
    name = product if isinstance(product, str) else product.name
    return name, "product", name


def spoken(line: Line) -> str:
    """A line of the cart as people say it: "2 blue Nordic Mug in size L"."""
    return f"{line.quantity} {line.colour} {line.product}" + (f" in size {line.size}" if line.size else "")


def add_task(line: Line, cart: Callable[[Shop], bool]) -> Task:
    """Puts a line into the cart; ``cart`` says when that is done."""

    def act(expert: ScriptedExpert) -> str:
        at = expert.go("shop", to(line.product))
        if at:
            return at
        chosen = expert.phone.stack[-1].drafts
        for key, wanted in (("colour", line.colour), ("size", line.size)):
            if chosen.get(key, "") != wanted:
                return expert.press(wanted, "chip")
        n = int(chosen["quantity"])
        if n != line.quantity:
            return expert.press("Increase quantity" if n < line.quantity else "Decrease quantity")
        return expert.press("Add to cart")

    return Task(lambda state: cart(state["shop"]), act)


def cart_hop(expert: ScriptedExpert) -> Hop:
    """The way to the cart, whose button also counts what is in it."""
    items = sum(line.quantity for line in expert.phone.state["shop"].cart)
    return f"Cart {items}" if items else "Cart", "cart", None


def order_tasks(line: Line, final: Shop, name: str, street: str, city: str, payment: str) -> tuple[Task, ...]:
    """Puts a line into an empty cart and orders it."""

    def act(expert: ScriptedExpert) -> str:
        at = expert.go("shop", cart_hop(expert), ("Checkout", "checkout", None))
        if at:
            return at
        values = (name, street, city)
        fields = [(key, label, value) for (key, label), value in zip(ADDRESS, values, strict=True)]
        if expert.phone.stack[-1].drafts.get("payment") != payment:
            return expert.fill(fields) or expert.press(payment, "radio")
        return expert.fill(fields) or expert.press("Place order")

    def in_cart(shop: Shop) -> bool:
        return bool(shop.cart) or shop.orders == final.orders

    return add_task(line, in_cart), Task(lambda state: state["shop"].orders == final.orders, act)


def _add(rng: np.random.Generator, state: State) -> Goal:
    shop: Shop = state["shop"]
    line = some_line(rng, pick(rng, shop.products))
    final = shop.adding(line)
    wordings = ("In the Shop, put {w} into the cart", "Open the Shop and add {w} to the cart")
    task = add_task(line, lambda now: now.cart == final.cart)
    return _goal(phrase(rng, wordings, w=spoken(line)), state, final, task, asked=(spoken(line),))


def _wish(rng: np.random.Generator, state: State) -> Goal:
    shop: Shop = state["shop"]
    product = pick(rng, shop.products)
    wished = product.name in shop.wishes
    wishes = tuple(n for n in shop.wishes if n != product.name) if wished else (*shop.wishes, product.name)
    final = replace(shop, wishes=wishes)
    do = "remove {n} from the wish list" if wished else "add {n} to the wish list"
    button = "Remove from wish list" if wished else "Add to wish list"
    text = phrase(rng, ("In the Shop, " + do, "Open the Shop and " + do), n=product.name)
    task = Task(reached(final), lambda expert: expert.go("shop", to(product)) or expert.press(button))
    return _goal(text, state, final, task, asked=(product.name, wished))


def _filled(rng: np.random.Generator, state: State) -> Shop:
    """Puts two different products into the initial cart."""
    shop: Shop = state["shop"]
    for i in rng.permutation(len(shop.products))[:2]:
        shop = shop.adding(some_line(rng, shop.products[int(i)], int(rng.integers(1, 4))))
    state["shop"] = shop
    return shop


def _remove(rng: np.random.Generator, state: State) -> Goal:
    shop = _filled(rng, state)
    line = pick(rng, shop.cart)
    final = replace(shop, cart=swap(shop.cart, line, None))

    def act(expert: ScriptedExpert) -> str:
        return expert.go("shop", cart_hop(expert)) or expert.press("Remove" if expert.phone.dialog else line.label)

    wordings = ("In the Shop, remove {n} from the cart", "Open the Shop and take {n} out of the cart")
    text = phrase(rng, wordings, n=line.product)
    return _goal(text, state, final, Task(reached(final), act), asked=(line.product,))


def _cancel(rng: np.random.Generator, state: State) -> Goal:
    shop: Shop = state["shop"]
    order = pick(rng, [order for order in shop.orders if order.status == "placed"])
    final = replace(shop, orders=swap(shop.orders, order, replace(order, status="cancelled")))
    hop: Hop = (f"Order {order.number}", "order", order.number)

    def act(expert: ScriptedExpert) -> str:
        button = "Cancel it" if expert.phone.dialog else "Cancel order"
        return expert.go("shop", ORDERS, hop) or expert.press(button)

    text = phrase(rng, ("In the Shop, cancel order {n}", "Open the Shop and cancel order {n}"), n=order.number)
    return _goal(text, state, final, Task(reached(final), act), asked=(order.number,))


def _quantity(rng: np.random.Generator, state: State) -> Goal:
    shop = _filled(rng, state)
    line = pick(rng, shop.cart)
    want = pick(rng, [n for n in range(1, min(MOST, line.quantity + 4)) if n != line.quantity])
    final = replace(shop, cart=swap(shop.cart, line, replace(line, quantity=want)))

    def act(expert: ScriptedExpert) -> str:
        now = next(kept.quantity for kept in expert.phone.state["shop"].cart if kept.label == line.label)
        verb = "Increase" if now < want else "Decrease"
        return expert.go("shop", cart_hop(expert)) or expert.press(f"{verb} {line.label}")

    wordings = ("Change the quantity of {n} in the cart of the Shop to {w}", "In the Shop, set {n} in the cart to {w}")
    text = phrase(rng, wordings, n=line.product, w=want)
    return _goal(text, state, final, Task(reached(final), act), asked=(line.product, want))


def _cheapest(rng: np.random.Generator, state: State) -> Goal:
    shop: Shop = state["shop"]
    nouns = [product.noun for product in shop.products]
    noun = pick(rng, sorted({noun for noun in nouns if nouns.count(noun) > 1}))
    dear = bool(rng.integers(2))
    twins = sorted((p for p in shop.products if p.noun == noun), key=lambda p: p.cents)
    product = twins[-1] if dear else twins[0]
    colour = pick(rng, product.colours)
    line = Line(product.name, colour, product.sizes[0] if product.sizes else "")
    final = shop.adding(line)
    size = f" in size {line.size}" if line.size else ""
    which = "most expensive" if dear else "cheapest"
    wordings = ("Put one {which} {noun} into the cart, in {colour}{size}",)
    text = phrase(rng, wordings, which=which, noun=noun, colour=colour, size=size)
    task = add_task(line, lambda now: now.cart == final.cart)
    return _goal(text, state, final, task, asked=(which, noun, colour, line.size))


def _order(rng: np.random.Generator, state: State) -> Goal:
    shop: Shop = state["shop"]
    line = some_line(rng, pick(rng, shop.products), int(rng.integers(1, 4)))
    name, street, city = people(rng, 1)[0], streets(rng, 1)[0], pick(rng, CITIES)
    payment = pick(rng, PAYMENTS)
    final = shop.adding(line).ordering(name, street, city, payment)
    wordings = (
        "Order {w} for {n}, {s}, {c}, and pay by {p}",
        "Buy {w} in the Shop, deliver to {n}, {s}, {c}, payment by {p}",
    )
    text = phrase(rng, wordings, w=spoken(line), n=name, s=street, c=city, p=payment.lower())
    tasks = order_tasks(line, final, name, street, city, payment)
    return _goal(text, state, final, *tasks, asked=(spoken(line), name, street, city, payment))


GOALS = (
    Template("shop_add", 1, ("shop",), _add),
    Template("shop_wish", 1, ("shop",), _wish),
    Template("shop_remove", 1, ("shop",), _remove),
    Template("shop_cancel", 1, ("shop",), _cancel),
    Template("shop_quantity", 2, ("shop",), _quantity),
    Template("shop_cheapest", 2, ("shop",), _cheapest),
    Template("shop_order", 2, ("shop",), _order),
)
