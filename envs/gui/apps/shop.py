"""Shop: categories and search, product pages with options, a cart, checkout with address and payment, orders."""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from ..device import App
from ..goals import pick, swap
from ..ui import Page, Screen
from ..words import CITIES, choose, people, streets

MOST = 9  # of one thing in the cart

CATEGORIES = {  # name: (icon, nouns)
    "Kitchen": ("mug", ("Mug", "Bowl", "Kettle", "Teapot")),
    "Office": ("book", ("Notebook", "Pencil", "Folder", "Stapler")),
    "Clothing": ("shirt", ("Shirt", "Jacket", "Scarf", "Hoodie")),
    "Garden": ("plant", ("Planter", "Hose", "Trowel", "Bench")),
    "Lighting": ("lamp", ("Lamp", "Lantern", "Candle", "Torch")),
}
BRANDS = (
    "Amber Bold Classic Coast Craft Daily Fjord Heritage Lunar Nordic Pure Rustic Simple Studio Urban Vintage".split()
)
COLOURS = {
    "red": 0xD64545, "blue": 0x3D7DD8, "green": 0x3E9B5B, "black": 0x3A3D42, "white": 0xE4E6EA,
    "yellow": 0xE3B436, "pink": 0xE07BA6, "grey": 0x8B929C,
}  # fmt: skip
SIZES = ("S", "M", "L", "XL")
PAYMENTS = ("Card", "Wallet", "Cash")
ADDRESS = (("name", "Name"), ("street", "Street"), ("city", "City"))


@dataclass(frozen=True)
class Product:
    """Something to buy; ``cents`` is its price. Clothing has sizes."""

    name: str
    category: str
    cents: int
    colours: tuple[str, ...]
    sizes: tuple[str, ...]

    @property
    def noun(self) -> str:
        """What kind of thing it is ("Mug")."""
        return self.name.split()[-1]

    @property
    def price(self) -> str:
        """In dollars."""
        return dollars(self.cents)


@dataclass(frozen=True)
class Line:
    """A product with its options, and how many."""

    product: str
    colour: str
    size: str
    quantity: int = 1

    @property
    def label(self) -> str:
        """Product and options, without the quantity."""
        return " ".join(part for part in (self.product, self.colour, self.size) if part)


@dataclass(frozen=True)
class Order:
    """An order; ``status`` is placed, delivered or cancelled."""

    number: int
    lines: tuple[Line, ...]
    name: str
    street: str
    city: str
    payment: str
    status: str = "placed"


@dataclass(frozen=True)
class Shop:
    """Catalogue, cart, wish list (product names, oldest first) and orders (newest first)."""

    products: tuple[Product, ...]
    cart: tuple[Line, ...] = ()
    wishes: tuple[str, ...] = ()
    orders: tuple[Order, ...] = ()

    def product(self, name: str) -> Product:
        """The product of this name."""
        return next(product for product in self.products if product.name == name)

    def adding(self, line: Line) -> "Shop":
        """The state after putting a line into the cart; the same thing twice becomes one line."""
        for old in self.cart:
            if old.label == line.label:
                merged = replace(old, quantity=min(old.quantity + line.quantity, MOST))
                return replace(self, cart=swap(self.cart, old, merged))
        return replace(self, cart=(*self.cart, line))

    def ordering(self, name: str, street: str, city: str, payment: str) -> "Shop":
        """The state after ordering what is in the cart."""
        number = max((order.number for order in self.orders), default=1000) + 1
        order = Order(number, self.cart, name, street, city, payment)
        return replace(self, cart=(), orders=(order, *self.orders))

    @property
    def total(self) -> int:
        """What the cart costs, in cents."""
        return sum(self.product(line.product).cents * line.quantity for line in self.cart)


def dollars(cents: int) -> str:
    """A price in words."""
    return f"${cents // 100}.{cents % 100:02d}"


class ShopApp(App):
    """The screens."""

    key: ClassVar[str] = "shop"
    name: ClassVar[str] = "Shop"
    icon: ClassVar[str] = "bag"
    colour: ClassVar[int] = 0xC2562D

    def _shop(self) -> Shop:
        shop: Shop = self.state
        return shop

    def _put(self, shop: Shop) -> None:
        self.phone.state[self.key] = shop

    def show(self, page: Page, screen: Screen) -> None:
        """Every screen needs the internet."""
        if self.phone.state["settings"].online:
            super().show(page, screen)
            return
        page.colour = self.colour
        page.bar("Shop")
        page.empty("No internet connection", "wifi")
        page.text("Check your network settings.", look="centre")
        page.button("Try again", _nothing, look="plain")

    def show_main(self, page: Page, screen: Screen) -> None:
        """Search, categories, and everything on offer."""

        def search() -> None:
            self.open("results", " ".join(screen.drafts["search"].lower().split()))()

        items = sum(line.quantity for line in self._shop().cart)
        page.bar(
            "Shop",
            back=False,
            actions=[
                ("heart", "Wish list", self.open("wishes")),
                ("box", "Orders", self.open("orders")),
                ("bag", f"Cart {items}" if items else "Cart", self.open("cart")),
            ],
        )
        page.field("search", "Search products")
        page.on_enter = search
        page.chips((name, False, self.open("category", name)) for name in CATEGORIES)
        page.section("On offer")
        self._rows(page, self._shop().products)

    def _rows(self, page: Page, products: tuple[Product, ...]) -> None:
        for product in products:
            icon = CATEGORIES[product.category][0]
            page.row(product.name, self.open("product", product.name), detail=product.price, icon=icon)

    def show_results(self, page: Page, screen: Screen) -> None:
        """Products whose names hold every word of the query."""
        page.bar(f"Results: {screen.arg}"[:24])
        words = screen.arg.split()
        found = tuple(p for p in self._shop().products if all(w in p.name.lower() for w in words))
        self._rows(page, found)
        if not found:
            page.empty("Nothing found", "search")

    def show_category(self, page: Page, screen: Screen) -> None:
        """Products of one category."""
        page.bar(screen.arg)
        self._rows(page, tuple(p for p in self._shop().products if p.category == screen.arg))

    def show_wishes(self, page: Page, screen: Screen) -> None:
        """The wish list."""
        page.bar("Wish list")
        self._rows(page, tuple(self._shop().product(name) for name in self._shop().wishes))
        if not self._shop().wishes:
            page.empty("Your wish list is empty", "heart")

    def show_product(self, page: Page, screen: Screen) -> None:
        """One product: colours, sizes, quantity, cart and wish list."""
        shop, chosen = self._shop(), screen.drafts
        product = shop.product(screen.arg)
        chosen.setdefault("quantity", "1")
        chosen.setdefault("colour", product.colours[0])
        chosen.setdefault("size", product.sizes[0] if product.sizes else "")
        wished = product.name in shop.wishes
        wishes = tuple(name for name in shop.wishes if name != product.name) if wished else (*shop.wishes, product.name)
        heart = ("heart", "Remove from wish list") if wished else ("heart_outline", "Add to wish list")
        page.bar(product.name, actions=[(*heart, self.setter(wishes=wishes)), ("bag", "Cart", self.open("cart"))])
        page.image("", CATEGORIES[product.category][0], COLOURS[chosen["colour"]], height=40.0)
        page.text(product.price, look="big")
        page.chips((c, c == chosen["colour"], partial(chosen.update, colour=c)) for c in product.colours)
        if product.sizes:
            page.chips((s, s == chosen["size"], partial(chosen.update, size=s)) for s in product.sizes)
        n = int(chosen["quantity"])
        less, more = partial(chosen.update, quantity=str(n - 1)), partial(chosen.update, quantity=str(n + 1))
        page.stepper("quantity", str(n), less, more, bounds=(n <= 1, n >= MOST))

        def add() -> None:
            self._put(self._shop().adding(Line(product.name, chosen["colour"], chosen["size"], n)))
            chosen["notice"] = "Added to cart"

        page.button("Add to cart", add)
        if "notice" in chosen:
            page.text(chosen["notice"], look="centre")

    def show_cart(self, page: Page, screen: Screen) -> None:
        """The cart: quantities, removal, total, checkout."""
        shop = self._shop()
        page.bar("Cart")
        if not shop.cart:
            page.empty("Your cart is empty", "bag")
            return
        for line in shop.cart:
            n, label = line.quantity, line.label
            page.row(label, partial(self._remove, line), detail="Tap to remove", icon="trash")
            fewer, more = replace(line, quantity=n - 1), replace(line, quantity=n + 1)
            steps = [self.setter(cart=swap(shop.cart, line, new)) for new in (fewer, more)]
            page.stepper(label, f"{n} x {shop.product(line.product).price}", *steps, bounds=(n <= 1, n >= MOST))
        page.text(f"Total {dollars(shop.total)}", look="big")
        page.button("Checkout", self.open("checkout"))

    def _remove(self, line: Line) -> None:
        remove = self.setter(cart=swap(self._shop().cart, line, None))
        self.phone.dialog = self.phone.ask("Remove?", f"Remove {line.label}?", ("Keep", _nothing), ("Remove", remove))

    def show_checkout(self, page: Page, screen: Screen) -> None:
        """Address form and payment; all of it is needed."""
        drafts = screen.drafts
        page.bar("Checkout")
        page.section("Deliver to")
        for key, label in ADDRESS:
            page.field(key, label)
        page.section("Pay by")
        for payment in PAYMENTS:
            page.radio(payment, drafts.get("payment") == payment, partial(drafts.update, payment=payment))
        page.error()
        page.text(f"Total {dollars(self._shop().total)}", look="big")
        page.button("Place order", partial(self._order, screen))

    def _order(self, screen: Screen) -> None:
        drafts = screen.drafts
        entry = {key: " ".join(drafts[key].split()) for key, _ in ADDRESS}
        missing = [label for key, label in ADDRESS if not entry[key]]
        if missing or "payment" not in drafts or not self._shop().cart:
            wrong = f"Enter a {missing[0].lower()}" if missing else "Choose a payment"
            screen.error = wrong if self._shop().cart else "Your cart is empty"
            return
        self._put(self._shop().ordering(**entry, payment=drafts["payment"]))
        del self.phone.stack[1:]
        self.open("order", self._shop().orders[0].number)()

    def show_orders(self, page: Page, screen: Screen) -> None:
        """The order history."""
        page.bar("Orders")
        for order in self._shop().orders:
            page.row(f"Order {order.number}", self.open("order", order.number), detail=order.status, icon="box")
        if not self._shop().orders:
            page.empty("No orders yet", "box")

    def show_order(self, page: Page, screen: Screen) -> None:
        """One order; until it is delivered it can be cancelled."""
        order = next(order for order in self._shop().orders if order.number == screen.arg)
        page.bar(f"Order {order.number}")
        page.row("Status", None, detail=order.status, icon="check" if order.status != "cancelled" else "close")
        for line in order.lines:
            page.row(line.label, None, detail=f"Quantity {line.quantity}", icon="box")
        page.row(order.name, None, detail=f"{order.street}, {order.city}", icon="home")
        page.row("Paid by", None, detail=order.payment)
        if order.status == "placed":
            page.button("Cancel order", partial(self._cancel, order), look="danger")

    def _cancel(self, order: Order) -> None:
        cancelled = replace(order, status="cancelled")
        cancel = self.setter(orders=swap(self._shop().orders, order, cancelled))
        self.phone.dialog = self.phone.ask(
            "Cancel order?", f"Order {order.number} will be cancelled.", ("Keep", _nothing), ("Cancel it", cancel)
        )


def _nothing() -> None:
    pass


def some_line(rng: np.random.Generator, product: Product, quantity: int = 1) -> Line:
    """A product with random options."""
    return Line(product.name, pick(rng, product.colours), pick(rng, product.sizes) if product.sizes else "", quantity)


def initial(rng: np.random.Generator) -> Shop:
    """Sixteen products (every kind once, some brands twice), an empty cart, two wishes, three orders."""
    kinds = [(category, noun) for category, (_, nouns) in CATEGORIES.items() for noun in nouns]
    kinds = [kinds[int(i)] for i in rng.permutation(len(kinds))[:12]]
    kinds += kinds[:4]
    brands = choose(rng, BRANDS, len(kinds))
    cents = rng.permutation(np.arange(3, 90))[: len(kinds)] * 100 + rng.choice((0, 49, 50, 95, 99), len(kinds))
    products = []
    for (category, noun), brand, price in zip(kinds, brands, cents, strict=True):
        colours = tuple(choose(rng, tuple(COLOURS), int(rng.integers(2, 5))))
        sizes = SIZES if category == "Clothing" else ()
        products.append(Product(f"{brand} {noun}", category, int(price), colours, sizes))
    order = [products[int(i)] for i in rng.permutation(len(products))]
    names, homes, cities = people(rng, 3), streets(rng, 3), choose(rng, CITIES, 3)
    newest = int(rng.integers(1003, 9990))
    orders = tuple(
        Order(
            newest - i, (some_line(rng, order[i + 3], int(rng.integers(1, 4))),), names[i], homes[i], cities[i],
            pick(rng, PAYMENTS), status=("placed", "placed", "delivered")[i],
        )
        for i in range(3)
    )  # fmt: skip
    return Shop(tuple(order), wishes=(order[0].name, order[5].name), orders=orders)
