"""Further wordings of tasks that Phone-v0 has with fewer; Phone-v1 draws them too, and holds out the last of each."""

FURTHER: dict[str, tuple[str, ...]] = {
    "settings_switch": ("In Settings, see to it that {which.words} is {on}",),
    "settings_choose": ("In Settings, let the {choice.words} be {value}",),
    "settings_level": ("Bring the {which.words} in Settings to {want * 20} percent",),
    "settings_join": ("Get this phone onto the network {one.name}; its password is {one.password}",),
    "settings_pair": (
        "{verb} the device {one.name} in Settings and leave Bluetooth switched on",
        "Have Bluetooth on in the end; as to {one.name}, {lower(verb)} it",
    ),
    "settings_rename": ("From now on this phone should be called {name}",),
    "settings_both": ("Two things to do in Settings: {turn}, and {change}",),
    "contacts_call": ("Give {one.name} a ring",),
    "contacts_star": ("{one.name} should {'no longer' if starred else 'now'} be among the favourites of Phone",),
    "contacts_clear_log": ("Wipe the list of recent calls in Phone; after that, ring {one.name}",),
    "contacts_delete": ("Get rid of the entry for {one.name} among the contacts",),
    "contacts_call_ending": ("Somebody's phone number has {end} as its last two digits: ring them",),
    "contacts_add": ("A new contact is needed: {name}, phone {number}",),
    "contacts_edit": ("{one.name} has a new {which.words}: {value}. Update the contact",),
    "contacts_call_back": (
        "Ring whoever tried last to reach you without success, and star {one.name} in Phone as well",
    ),
    "shop_add": ("We need {spoken(line)}: have it ready in the cart of the Shop",),
    "shop_wish": ("{one.name} should {'leave' if wished else 'go onto'} the wish list of the Shop",),
    "shop_remove": ("{line.product} is no longer wanted: drop it from the Shop's cart",),
    "shop_cancel": ("Order {order.number} in the Shop was a mistake: call it off",),
    "shop_quantity": ("There should be {want} of {line.product} in the Shop's cart",),
    "shop_cheapest": (
        "In the Shop, find the {noun} that is {which} and add one to the cart: {colour}"
        "{', size ' + size if size else ''}",
        "Of all things called {noun} in the Shop, one of the {which} shall go into the cart, {colour}"
        "{' and size ' + size if size else ''}",
    ),
    "shop_order": (
        "Have {spoken(line)} sent by the Shop to {name} at {street} in {city}; method of payment: {lower(payment)}",
    ),
    "errand_order_to_contact": (
        "{who.name} should get {spoken(line)} from the Shop at the address saved in Phone; use {lower(payment)} to pay",
    ),
    "errand_call_recipient": ("Give a ring to whoever receives order {order.number} of the Shop",),
    "errand_airplane_call": ("Calls do not go out in airplane mode: end it, then ring {who.name}",),
    "errand_join_and_shop": (
        "Connect to Wi-Fi {wifi.name} with the password {wifi.password}, then add {spoken(line)} to the Shop's cart",
        "There is no internet yet: use the network {wifi.name}, password {wifi.password}. Then have {spoken(line)} "
        "in the cart of the Shop",
    ),
    "errand_quiet_call": (
        "Switch {'on' if want else 'off'} do not disturb in Settings and call {who.name} after that",
        "Do not disturb should be {'on' if want else 'off'} when you ring {who.name}",
    ),
}
