"""Shop: categories and search, product pages with options, a cart, checkout with address and payment, orders."""

from ..declare.app import App, Tasks, View
from ..declare.operations import Ask, Delete, Each, If, Insert, Pop, Push, Require, Set
from ..declare.state import Choice, Int, List, Table, Text, Type
from ..declare.widgets import (
    Action,
    Bar,
    Button,
    Chips,
    Empty,
    Error,
    Field,
    ForEach,
    Image,
    Paragraph,
    Radio,
    Row,
    Section,
    Stepper,
    When,
)  # fmt: skip
from .parts import offline

MOST = 9  # of one thing in the cart
CATEGORIES = {
    "Kitchen": {"icon": "mug", "nouns": ("Mug", "Bowl", "Kettle", "Teapot")},
    "Office": {"icon": "book", "nouns": ("Notebook", "Pencil", "Folder", "Stapler")},
    "Clothing": {"icon": "shirt", "nouns": ("Shirt", "Jacket", "Scarf", "Hoodie")},
    "Garden": {"icon": "plant", "nouns": ("Planter", "Hose", "Trowel", "Bench")},
    "Lighting": {"icon": "lamp", "nouns": ("Lamp", "Lantern", "Candle", "Torch")},
}
COLOURS = {
    "red": 0xD64545, "blue": 0x3D7DD8, "green": 0x3E9B5B, "black": 0x3A3D42, "white": 0xE4E6EA,
    "yellow": 0xE3B436, "pink": 0xE07BA6, "grey": 0x8B929C,
}  # fmt: skip
PAYMENTS = ("Card", "Wallet", "Cash")
ADDRESS = {"name": "Name", "street": "Street", "city": "City"}
CART = Action("bag", "Cart{' ' + text(items) if items else ''}", Push("cart"))
PRODUCT = Row("{one.name}", Push("product", "one.name"), "{one.price}", "{CATEGORIES[one.category].icon}")
SOME = "Line(product=one.name, colour=pick(one.colours), size=pick(one.sizes) if one.sizes else '')"


def several(most: int) -> str:
    """Draws a line of one to ``most`` of ``one``."""
    return SOME.replace("(", f"(quantity=integer(1, {most + 1}), ", 1)


def put(product: str, colour: str, size: str, quantity: str) -> If:
    """Into the cart; the same thing twice becomes one line, and no line holds more than nine."""
    same = f"[old for old in cart if old.product == {product} and old.colour == {colour} and old.size == {size}]"
    new = f"Line(product={product}, colour={colour}, size={size}, quantity={quantity})"
    more = Set("old.quantity", f"min((old.quantity + {quantity}, {MOST}))")
    return If(same, Each("old", same, more), Insert("cart", new))


def order(name: str, street: str, city: str, payment: str) -> tuple[Insert | Delete, ...]:
    """Orders what is in the cart."""
    address = f"name={name}, street={street}, city={city}, payment={payment}"
    number = "max((1000,) + [order.number for order in orders]) + 1"
    return (Insert("orders", f"Order(number={number}, lines=cart, {address})", start=True), Delete("cart"))


PUT_LINE = put("line.product", "line.colour", "line.size", "line.quantity")

SCREENS = {
    "main": View((
        Bar("Shop", back=False, actions=(
            Action("heart", "Wish list", Push("wishes")), Action("box", "Orders", Push("orders")), CART,
        )),
        Field("search", "Search products"),
        Chips("name", "CATEGORY_NAMES", "{name}", Push("category", "name")),
        Section("On offer"), ForEach("one", "products", (PRODUCT,)),
    ), let={"items": "sum([line.quantity for line in cart])"}, enter=Push("results", "lower(clean(draft.search))")),
    "results": View((
        Bar("{cut('Results: ' + arg, 24)}"),
        ForEach("one", "products", (PRODUCT,), "all([word in lower(one.name) for word in split(arg)])",
                otherwise=(Empty("Nothing found", "search"),)),
    ), arg="text"),
    "category": View((Bar("{arg}"), ForEach("one", "products", (PRODUCT,), "one.category == arg")), arg="text"),
    "wishes": View((
        Bar("Wish list"), ForEach("one", "[find(products, name) for name in wishes]", (PRODUCT,),
                                  otherwise=(Empty("Your wish list is empty", "heart"),)),
    )),
    "product": View((
        Bar("{one.name}", actions=(
            Action("{'heart' if one.name in wishes else 'heart_outline'}",
                   "{'Remove from wish list' if one.name in wishes else 'Add to wish list'}",
                   Set("wishes", "toggled(wishes, one.name)")),
            Action("bag", "Cart", Push("cart")),
        )),
        Image("{CATEGORIES[one.category].icon}", "COLOURS[draft.colour]", 40.0), Paragraph("{one.price}", "big"),
        Chips("colour", "one.colours", "{colour}", Set("draft.colour", "colour"), "colour == draft.colour"),
        When("one.sizes", (Chips("size", "one.sizes", "{size}", Set("draft.size", "size"), "size == draft.size"),)),
        Stepper("quantity", "{draft.quantity}", Set("draft.quantity", "draft.quantity - 1"),
                Set("draft.quantity", "draft.quantity + 1"), "draft.quantity <= 1", f"draft.quantity >= {MOST}"),
        Button("Add to cart", (put("one.name", "draft.colour", "draft.size", "draft.quantity"),
                               Set("draft.notice", "'Added to cart'"))),
        When("draft.notice", (Paragraph("{draft.notice}", "centre"),)),
    ), arg="products", let={"one": "find(products, arg)"}, drafts={
        "quantity": "1", "colour": "one.colours[0]", "size": "one.sizes[0] if one.sizes else ''", "notice": "''",
    }),
    "cart": View((Bar("Cart"), When("cart", (
        ForEach("line", "cart", (
            Row("{line.label}", Ask("Remove?", "Remove {line.label}?", (("Keep", ()), ("Remove", Delete("line")))),
                "Tap to remove", "trash"),
            Stepper("{line.label}", "{line.quantity} x {find(products, line.product).price}",
                    Set("line.quantity", "line.quantity - 1"), Set("line.quantity", "line.quantity + 1"),
                    "line.quantity <= 1", f"line.quantity >= {MOST}"),
        )),
        Paragraph("Total {money(total())}", "big"), Button("Checkout", Push("checkout")),
    ), (Empty("Your cart is empty", "bag"),)))),
    "checkout": View((
        Bar("Checkout"), Section("Deliver to"), *(Field(key, label) for key, label in ADDRESS.items()),
        Section("Pay by"), ForEach("payment", "PAYMENTS", (
            Radio("{payment}", "draft.payment == payment", Set("draft.payment", "payment")),
        )),
        Error(), Paragraph("Total {money(total())}", "big"), Button("Place order", (
            Require("cart", "Your cart is empty"),
            *(Require(f"clean(draft.{key})", f"Enter a {label.lower()}") for key, label in ADDRESS.items()),
            Require("draft.payment", "Choose a payment"),
            *order("clean(draft.name)", "clean(draft.street)", "clean(draft.city)", "draft.payment"),
            Pop(0), Push("order", "orders[0].number"),
        )),
    ), drafts={"payment": "''"}),
    "orders": View((Bar("Orders"), ForEach("order", "orders", (
        Row("Order {order.number}", Push("order", "order.number"), "{order.status}", "box"),
    ), otherwise=(Empty("No orders yet", "box"),)))),
    "order": View((
        Bar("Order {order.number}"),
        Row("Status", detail="{order.status}", icon="{'check' if order.status != 'cancelled' else 'close'}"),
        ForEach("line", "order.lines", (Row("{line.label}", detail="Quantity {line.quantity}", icon="box"),)),
        Row("{order.name}", detail="{order.street}, {order.city}", icon="home"),
        Row("Paid by", detail="{order.payment}"),
        When("order.status == 'placed'", (Button("Cancel order", Ask(
            "Cancel order?", "Order {order.number} will be cancelled.",
            (("Keep", ()), ("Cancel it", Set("order.status", "'cancelled'"))),
        ), "danger"),)),
    ), arg="orders", let={"order": "find(orders, arg)"}),
}  # fmt: skip

FILLED = {
    "lines": f"[{several(3)} for one in choose(products, 2)]",
    "line": "pick(lines)",
}
TASKS = (
    Tasks("shop_add", 1, {"one": "pick(products)", "line": SOME}, (
        "In the Shop, put {spoken(line)} into the cart", "Open the Shop and add {spoken(line)} to the cart",
    ), PUT_LINE, ("spoken(line)",)),
    Tasks("shop_wish", 1, {"one": "pick(products)", "wished": "one.name in wishes"}, tuple(
        start + "{'remove' if wished else 'add'} {one.name} {'from' if wished else 'to'} the wish list"
        for start in ("In the Shop, ", "Open the Shop and ")
    ), Set("wishes", "toggled(wishes, one.name)"), ("one.name", "wished")),
    Tasks("shop_remove", 1, FILLED, (
        "In the Shop, remove {line.product} from the cart", "Open the Shop and take {line.product} out of the cart",
    ), Delete("line"), ("line.product",), prepare=Set("cart", "lines")),
    Tasks("shop_cancel", 1, {"order": "pick([order for order in orders if order.status == 'placed'])"}, (
        "In the Shop, cancel order {order.number}", "Open the Shop and cancel order {order.number}",
    ), Set("order.status", "'cancelled'"), ("order.number",)),
    Tasks("shop_quantity", 2, {
        **FILLED, "want": f"pick([n for n in range(1, min(({MOST}, line.quantity + 4))) if n != line.quantity])",
    }, (
        "Change the quantity of {line.product} in the cart of the Shop to {want}",
        "In the Shop, set {line.product} in the cart to {want}",
    ), Set("line.quantity", "want"), ("line.product", "want"), prepare=Set("cart", "lines")),
    Tasks("shop_cheapest", 2, {
        "noun": "pick(repeated([one.noun for one in products]))", "dear": "coin()",
        "twins": "sorted_by([one for one in products if one.noun == noun], 'cents')",
        "one": "last(twins) if dear else twins[0]", "colour": "pick(one.colours)",
        "size": "one.sizes[0] if one.sizes else ''", "which": "'most expensive' if dear else 'cheapest'",
    }, ("Put one {which} {noun} into the cart, in {colour}{' in size ' + size if size else ''}",),
        put("one.name", "colour", "size", "1"), ("which", "noun", "colour", "size")),
    Tasks("shop_order", 2, {
        "one": "pick(products)", "line": several(3), "name": "people(1)[0]", "street": "streets(1)[0]",
        "city": "pick(CITIES)", "payment": "pick(PAYMENTS)",
    }, (
        "Order {spoken(line)} for {name}, {street}, {city}, and pay by {lower(payment)}",
        "Buy {spoken(line)} in the Shop, deliver to {name}, {street}, {city}, payment by {lower(payment)}",
    ), (PUT_LINE, *order("name", "street", "city", "payment")),
        ("spoken(line)", "name", "street", "city", "payment")),
)  # fmt: skip

LINE: dict[str, Type] = {"product": Text(), "colour": Text(), "size": Text(), "quantity": Int(1, MOST, default=1)}
APP = App(
    key="shop", name="Shop", icon="bag", colour=0xC2562D, record="Shop",
    state={
        "products": Table("Product", {
            "name": Text(), "category": Choice(tuple(CATEGORIES)), "cents": Int(), "colours": List(), "sizes": List(),
        }, derived={"noun": "last(split(name))", "price": "money(cents)"}),
        "cart": Table("Line", LINE, derived={"label": "join(' ', (product, colour, size))"}, default=()),
        "wishes": List(default=()),
        "orders": Table("Order", {
            "number": Int(), "lines": List("Line"), "name": Text(), "street": Text(), "city": Text(),
            "payment": Choice(PAYMENTS), "status": Choice(("placed", "delivered", "cancelled"), "placed"),
        }, default=()),
    },
    data={
        "drawn": "choose(NOUNS, 12)", "kinds": "drawn + [drawn[i] for i in range(4)]",
        "brands": "choose(BRANDS, 16)", "cents": "prices(16)",
        "made": "[Product(name=brands[i] + ' ' + kinds[i].noun, category=kinds[i].category, cents=cents[i], "
                "colours=choose(COLOUR_NAMES, integer(2, 5)), sizes=SIZES if kinds[i].category == 'Clothing' else ()) "
                "for i in range(16)]",
        "products": "shuffled(made)", "cart": "()", "wishes": "(products[0].name, products[5].name)",
        "names": "people(3)", "homes": "streets(3)", "cities": "choose(CITIES, 3)", "newest": "integer(1003, 9990)",
        "orders": "[Order(number=newest - i, lines=[" + several(3) + " for one in (products[i + 3],)], name=names[i], "
                  "street=homes[i], city=cities[i], payment=pick(PAYMENTS), "
                  "status=('placed', 'placed', 'delivered')[i]) for i in range(3)]",
    },
    functions={
        "spoken(line)": "join(' ', (text(line.quantity), line.colour, line.product, "
                        "'in size ' + line.size if line.size else ''))",
        "total()": "sum([find(products, line.product).cents * line.quantity for line in cart])",
    },
    constants={
        "CATEGORIES": {name: {"icon": one["icon"]} for name, one in CATEGORIES.items()},
        "CATEGORY_NAMES": tuple(CATEGORIES),
        "NOUNS": tuple({"category": name, "noun": noun} for name, one in CATEGORIES.items() for noun in one["nouns"]),
        "COLOURS": COLOURS, "COLOUR_NAMES": tuple(COLOURS), "SIZES": ("S", "M", "L", "XL"), "PAYMENTS": PAYMENTS,
        "BRANDS": tuple("Amber Bold Classic Coast Craft Daily Fjord Heritage Lunar Nordic Pure Rustic Simple Studio "
                        "Urban Vintage".split()),
    },
    **offline("Shop", Paragraph("Check your network settings.", "centre")),
    screens=SCREENS, tasks=TASKS,
)  # fmt: skip
