"""Word tables and the generators of names, addresses, numbers and passwords that fill a phone with data."""

from collections.abc import Sequence

import numpy as np

FIRST = (
    "Ada Ahmed Alice Amara Anna Arjun Ben Bruno Carla Chen Clara Dana David Diego Elena Emil Emma Erik Farah Felix "
    "Fiona Georg Grace Hana Hugo Ines Ivan Jack Jana Jonas Julia Kai Karim Kira Lars Laura Leo Lina Luca Maja Marco "
    "Maria Max Mei Mina Nadia Nils Nora Olga Omar Oskar Paula Pedro Priya Rosa Ruben Sami Sara Sofia Tariq Tess Tom "
    "Uma Vera Viktor Wei Yara Yuki Zara Zoe"
).split()
LAST = (
    "Abbott Adler Ali Bauer Bell Berg Blake Brandt Chan Cole Costa Cruz Dahl Diaz Dunn Ellis Fischer Ford Fox Garcia "
    "Gray Haas Hale Hansen Hart Ito Jensen Jones Kaya Khan Kim Klein Kovac Lang Lee Lopez Marsh Mills Moore Nair Novak "
    "Okoye Olsen Park Patel Perez Quinn Reed Reyes Rossi Roy Sato Silva Singh Stone Tanaka Toth Vega Vogel Wang Ward "
    "Weber West Wolf Wood Yang Young Zhang"
).split()
STREETS = (
    "Acorn Alder Apple Baker Birch Bridge Canal Castle Cedar Cherry Church Clover Copper Elm Ferry Forest Garden Grove "
    "Harbour Hazel Hill Juniper King Lake Laurel Linden Maple Market Meadow Mill Oak Orchard Park Pine Queen River "
    "Rose School Spring Station Stone Sunset Temple Tower Valley Violet Walnut Water Willow Windmill"
).split()
KINDS = ("Street", "Road", "Lane", "Avenue", "Way")
CITIES = (
    "Arden Ashford Bexley Brightwater Calder Carlow Dunmore Easton Fairview Glenfield Harwick Ilford Kelso Kingsport "
    "Langley Lorne Marlow Milton Newhaven Norwood Oakdale Penrose Redhill Rowan Selby Stanmore Thornton Tilbury Upton "
    "Wexford Whitby Yarrow"
).split()
NETWORKS = (
    "Attic Bluebird Cafe Cobalt Comet Copper Delta Ember Falcon Ginger Harbor Indigo Jasmine Kiwi Library Lighthouse "
    "Maple Meteor Nimbus Office Orbit Pepper Quartz Raven Saffron Sunrise Tulip Umbra Velvet Walnut Zenith"
).split()
GADGETS = (
    "Alto Speaker,Aria Earbuds,Atlas Watch,Bolt Keyboard,Breeze Headset,Cedar Speaker,Drift Mouse,Echo Car,"
    "Flint Tracker,Halo Lamp,Nova Buds,Onyx Headphones,Pulse Band,Quill Pen,Rover Car,Stellar TV,Terra Scale,"
    "Vega Controller"
).split(",")

SONGS = (
    "Amber Light,Back to Harbour,Better Days,Blue Kite,Bring the Rain,Carousel,City of Paper,Coffee at Five,Cold Coast,"
    "Count the Stars,Dance Again,Dear Winter,Early Train,Echo Park,Empty Chairs,Evergreen,Falling Leaves,"
    "Fireflies,Glass Garden,Gold and Grey,Half the Moon,Hello Sunday,High Tide,Hold the Line,Islands,Just a Postcard,"
    "Kites in June,Last Bus Home,Letters,Little Lantern,Long Way Down,Lost and Found,Marble Sky,Midnight Swim,"
    "Morning Song,Mountain Road,Neon River,No More Maps,North Window,Old Friends,On the Roof,Open Water,Paper Boats,"
    "Quiet Room,Red Umbrella,Run for Cover,Salt and Honey,Seven Sisters,Silver Thread,Slow Motion,Small Hours,"
    "Snow in April,Stay a While,Summer Radio,Sundial,Swing Low,Tall Grass,Ten Steps,Thunder Bay,Turn the Page,"
    "Under the Bridge,Velvet Evening,Wild Geese,Yesterday's News"
).split(",")
BANDS = (
    "Anna Lindqvist,Blue Heron,Carlo Verdi Trio,Distant Cousins,Elm Street Band,Faraday,Glasshouse,Hazel & Finn,"
    "June Okafor,Kite Festival,Low Season,Mira Sol,Night Ferry,Oslo Brass,Paper Tigers,Quarter Past,Rosa Tren,"
    "Saint Harbour,Slow Parade,Ten Lanterns,The Gardeners,The Postmen,Violet Hour,Wooden Ships"
).split(",")
RECORDS = (
    "After the Storm,Atlas,Blueprints,Close to Home,Daylight,Eleven Rooms,Field Notes,First Light,Half Awake,"
    "In Colour,Kitchen Sessions,Live at Dawn,Long Exposure,Made of Wood,New Shoes,Northbound,Open House,Polaroids,"
    "Second Nature,Shoreline,Small Victories,Souvenirs,Static,Sunroom,Two Hundred Days,Undercurrent,Warm Machines"
).split(",")
VENUES = (
    "Acorn,Blue Door,Bluebell,Copper,Corner,Crown,Eagle,Four Seasons,Fountain,Golden Key,Green Lantern,Half Moon,"
    "Harbour,Hilltop,Ivy,Jade,Lakeside,Lion,Market,Nightingale,Old Mill,Orchard,Palm,Quayside,Rosemary,Royal,"
    "Silver Spoon,Sunflower,Swan,Twin Oaks,Union,Windmill"
).split(",")
DOCUMENTS = (
    "Agenda,Budget,Checklist,Contract,Diary,Draft,Essay,Floor plan,Guest list,Handbook,Insurance,Inventory,Invitation,"
    "Invoice,Itinerary,Lease,Letter,Manual,Menu,Minutes,Outline,Packing list,Payslip,Poem,Receipt,Recipe,Report,"
    "Seating plan,Shopping list,Speech,Summary,Survey,Syllabus,Tax form,Ticket,Timetable,Warranty,Will"
).split(",")
RIVERS = "Aller,Brook,Cam,Dart,Esk,Fowey,Gade,Humber,Isla,Kennet,Lune,Medway,Nene,Ouse,Ribble,Severn,Tamar".split(",")
ANIMALS = (
    "Antelope,Badger,Beaver,Boar,Camel,Capybara,Deer,Dingo,Hyena,Ibex,Jaguar,Kangaroo,Leopard,Lynx,Moose,Okapi,Otter,"
    "Panda,Porcupine,Puma,Seal,Tapir,Walrus,Wolf,Wombat,Yak"
).split(",")
HABITATS = "Coasts,Deserts,Forests,Grassland,Marshes,Mountains,Riverbanks,Savanna,Scrub,Tundra".split(",")
POSTS = (
    "Bakers win a prize,Bridge opens again,Bus drivers thanked,Cinema saved,Fair comes to town,Floods go down,"
    "Harvest is early,Library stays open,Market moves,New park planned,Old clock repaired,School choir sings,"
    "Swans return,Tram line extended"
).split(",")
CUISINES = "French,Greek,Indian,Italian,Japanese,Korean,Mexican,Spanish,Thai,Turkish,Vegan".split(",")


def choose(rng: np.random.Generator, table: Sequence[str], n: int) -> list[str]:
    """``n`` different entries of a table, in random order."""
    return [table[i] for i in rng.permutation(len(table))[:n].tolist()]


def people(rng: np.random.Generator, n: int) -> list[str]:
    """``n`` full names with no first and no last name twice."""
    return [f"{first} {last}" for first, last in zip(choose(rng, FIRST, n), choose(rng, LAST, n), strict=True)]


def numbers(rng: np.random.Generator, n: int) -> list[str]:
    """``n`` ten-digit phone numbers, all with different last two digits."""
    heads, tails = rng.integers(20_000_000, 99_999_999, n), rng.permutation(100)[:n]
    return [f"{head}{tail:02d}" for head, tail in zip(heads.tolist(), tails.tolist(), strict=True)]


def streets(rng: np.random.Generator, n: int) -> list[str]:
    """``n`` addresses such as ``14 Linden Road``, no two in streets of one name."""
    houses, kinds = rng.integers(1, 100, n), rng.integers(len(KINDS), size=n)
    names = choose(rng, STREETS, n)
    return [f"{h} {name} {KINDS[k]}" for h, name, k in zip(houses.tolist(), names, kinds.tolist(), strict=True)]


def password(rng: np.random.Generator) -> str:
    """A word and three digits."""
    return f"{STREETS[int(rng.integers(len(STREETS)))].lower()}{int(rng.integers(100, 1000))}"


TOPICS = (
    "barbecue,bicycle,birthday,boat trip,bookshelf,budget,cake,camera,carpet,choir,concert,contract,exam,exhibition,"
    "fence,film night,football,garden,guitar,hike,holiday,insurance,invoice,kitchen,lawn mower,library,lottery,"
    "marathon,museum,new flat,old sofa,parking,photos,piano,picnic,quiz,recipe,report,reunion,roof,school,ski trip,"
    "survey,tent,theatre,tickets,train trip,wedding,website,workshop"
).split(",")
"""What people write about; each goes with "the"."""
OCCASIONS = (
    "Art class,Board meeting,Book club,Budget talk,Car service,Chess evening,Choir practice,City tour,Coffee break,"
    "Cooking class,Dance lesson,Dentist,Design review,Doctor,Driving lesson,Eye test,Farewell party,Film night,"
    "First aid course,Football match,Garden party,Guitar lesson,Haircut,House viewing,Job interview,Language class,"
    "Music quiz,Parents evening,Photo walk,Piano lesson,Project kickoff,Sales call,School play,Staff lunch,Swimming,"
    "Tax adviser,Team meeting,Tennis,Theatre,Vet visit,Wine tasting,Yoga class"
).split(",")
VENUE_NAMES = (
    "Atrium,Blue Room,Boathouse,Cafe Luna,Castle Park,City Hall,Clubhouse,Corner Bar,East Wing,Garden House,Gym,"
    "Harbour Hall,Lake House,Library,Market Square,Music School,North Gate,Old Mill,Orangery,Park Hotel,Pavilion,"
    "Room 12,Room 204,Rooftop,Sports Centre,Studio 5,Sunset Bar,Town Museum,Union House,West Pier"
).split(",")
GREETINGS = ("Sorry", "Thanks", "OK", "Hello", "Yes", "Well", "Hi", "Right")
CLAUSES = (
    "I'll be late for,I can't come to,I've heard about,let's talk about,we're ready for,I'm glad about,"
    "it's all about,nobody wants,don't forget,I won't miss"
).split(",")
"""With a greeting before them and a topic after them they are messages of at most 40 characters."""
