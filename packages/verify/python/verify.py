#!/usr/bin/env python3
"""Verifies explanations of amounts of the format `explanation/1`.

It is written from docs/explanations.md alone, so that it and the verifier in TypeScript do not
share an error. It needs Python 3.9 or newer, and exits with 0 if all is verified, else with 1.

    python3 verify.py [FILE]     one explanation, from a file or standard input
    python3 verify.py --lines    an explanation a line of standard input, and an answer a line
"""

import hashlib, json, re, sys
from datetime import date
from fractions import Fraction

# Each rule with its documents, its kind of sheet, its facts and its steps.
RULES_TEXT = """
flat_fee/1 on invoice of plan flat_fee from discount_percent (percent), sheet (price_sheet)
    list = price sheet; value = less_percent list discount_percent; amount = round value places
plan/1 on invoice of plan units from units (units), discount_percent (percent), sheet (price_sheet)
    priced = units_to_price units sheet; list = price priced sheet
    value = less_percent list discount_percent; amount = round value places
charge/1 on invoice from quantity (quantity), price (money)
    product = mul quantity price; amount = round product places
proration/1 on both of plan units from from_units (units), to_units (units), effective_date (date),
    period_start (date), period_end (date), discount_percent (percent), sheet (price_sheet)
    days_in_period = days period_start period_end; days_remaining = days effective_date period_end
    priced_from = units_to_price from_units sheet; list_from = price priced_from sheet
    value_from = less_percent list_from discount_percent; priced_to = units_to_price to_units sheet
    list_to = price priced_to sheet; value_to = less_percent list_to discount_percent
    difference = sub value_to value_from; product = mul difference days_remaining
    share = div product days_in_period; amount = round share places
usage/1 on both of meter units from quantity (quantity), before (quantity), priced (quantity),
    sheet (price_sheet); whole = add before quantity; uncovered = sub before priced
    value_whole = price whole sheet; value_priced = price priced sheet
    difference = sub value_whole value_priced; amount = round difference places
reversal_credit/1 on credit_note from billed (money), opposite_* (money), earlier_* (money)
    opposite = sum opposite_*; earlier = sum earlier_*; left = excess opposite earlier
    compensated = min left billed; amount = sub billed compensated
reversal_charge/1 on invoice from credited_* (money), charged_* (money)
    credited = sum credited_*; charged = sum charged_*; amount = sub credited charged
"""
RULES = {}
for block in re.findall(r"^\S.*\n(?: .*\n)+", RULES_TEXT, re.M):
    rule, _, documents, *kind = block.split(" from ")[0].replace(" of ", " ").split()
    steps = [(name, *terms.split()) for name, terms in re.findall(r"(\w+) = ([^;\n]+)", block)]
    RULES[rule] = (documents, kind, re.findall(r"(\S+) \((\w+)\)", block), steps)

PRICE = {"flat_fee": "price_once", "per_unit": "price_each", "tiered": "tier_walk",
         "volume": "volume_band", "stairstep": "stairstep"}
PLACES = {currency: places for places, currencies in (
    (0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"),
    (3, "BHD IQD JOD KWD LYD OMR TND"), (4, "CLF UYW")) for currency in currencies.split()}

def demand(holds, place, reason):
    if not holds:
        raise ValueError(f"{place}: {reason}")

def day(value, place, time=""):
    conforms(value, f"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}{time}", place)
    return date.fromisoformat(value[:10])

def count(value, place):
    demand(type(value) is int and 0 <= value < 2**53, place, "is no count")

def conforms(value, form, place):
    """A form is a pattern, a function, [a form] of a list, (a form,) or null, or an object's."""
    if isinstance(form, str):
        demand(type(value) is str and re.fullmatch(form, value), place, "has another form")
    elif isinstance(form, tuple):
        return value is None or conforms(value, form[0], place)
    elif isinstance(form, list):
        demand(type(value) is list, place, "is no list")
        for index, item in enumerate(value):
            conforms(item, form[0], f"{place}[{index}]")
    elif isinstance(form, dict):
        demand(type(value) is dict, place, "is no object")
        for name in form:
            demand(name in value or name[-1] == "?", f"{place}.{name}", "is missing")
        for name, member in value.items():
            inner = form.get(name, form.get(f"{name}?"))
            demand(inner and "?" not in name, f"{place}.{ascii(name)}", "is an unknown member")
            conforms(member, inner, f"{place}.{name}")
    else:
        form(value, place)

anything = lambda value, place: None  # It is compared later with the one value that it may have.
true = lambda value, place: demand(value is True, place, "is not true")
CLOCK = "T([01][0-9]|2[0-3])(:[0-5][0-9]){2}([.][0-9]+)?Z"
instant = lambda value, place: day(value, place, CLOCK)
TEXT = "[^\ud800-\udfff]+"  # Without surrogates, of which a pair has become one character.
DECIMAL, AMOUNT = "(0|[1-9][0-9]*)([.][0-9]*[1-9])?", "(0|[1-9][0-9]*)[.][0-9]{4}"
SOURCE = {"object": TEXT, "field": TEXT, "id?": TEXT, "meter?": TEXT, "period?": count,
          "bill?": count, "events?": count}
FACT = {"name": TEXT, "value": TEXT, "unit": TEXT, "source": SOURCE}
ACCOUNT = {"facts": [FACT], "steps": [anything], "result": anything, "amount": AMOUNT}
LINE = {"line": (TEXT,), "rule": "|".join(RULES), "was?": {"until": instant, **ACCOUNT},
        "reissues?": {"invoice": TEXT, "line": TEXT}, **ACCOUNT}
TIER = {"up_to": (count,), "unit_price": (DECIMAL,), "flat_price": (DECIMAL,)}
SHEET = {"name": "[0-9a-f]{32}", "plan": TEXT, "meter?": TEXT, "subscription?": TEXT,
         "type": "|".join(PRICE), "free_units": count, "price": DECIMAL, "tiers": [TIER]}
DOCUMENT = {"format": "explanation/1", "object": "invoice|credit_note", "id": (TEXT,),
            "number": (TEXT,), "available": true, "currency": "[A-Z]{3}", "places": count,
            "lines": [LINE], "sheets": [SHEET], "subtotal": AMOUNT,
            "ledger?": {"tax": AMOUNT, "total": AMOUNT},
            "allocations?": [{"invoice": TEXT, "amount": AMOUNT, "by": "service|ledger"}]}

def write(value):
    """The one text of an exact number."""
    bottom = value.denominator
    places = next((k for k in range(bottom.bit_length()) if 10**k % bottom == 0), None)
    if places is None:
        return str(value)
    whole, part = divmod(abs(value.numerator) * 10**places // bottom, 10**places)
    return f"{'-' * (value < 0)}{whole}" + (f".{part:0{places}d}" if places else "")

def price_rows(op, sheet, quantity=None):
    """The rows of a price, whose prices have the text of the sheet."""
    if op in ("price_once", "price_each"):
        part = None if quantity is None else write(quantity)
        return [{"quantity": part, "price": sheet["price"]}]
    rows, below = [], Fraction(0)
    for tier in sheet["tiers"] if quantity else ():
        up_to, unit, flat = tier["up_to"], tier["unit_price"], tier["flat_price"]
        reached = up_to is None or quantity <= up_to
        if reached or op == "tier_walk":
            part = quantity if op == "volume_band" else (quantity if reached else up_to) - below
            rows += [] if unit is None else [{"quantity": write(part), "price": unit}]
            rows += [] if flat in (None, unit and "0") else [{"quantity": None, "price": flat}]
        if reached:
            return rows
        below = Fraction(up_to)
    return demand(not quantity, op, "the quantity is above the last tier") or rows

OPERATIONS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b, "neg": lambda a: -a, "min": min,
    "round": lambda a, n: (1 if a > 0 else -1) * Fraction((abs(a) * 10**n * 2 + 1) // 2, 10**n),
    "sum": lambda *all: Fraction(sum(all)), "excess": lambda a, b: max(Fraction(0), a - b),
    "less_percent": lambda a, b: a * (100 - b) / 100, "days": lambda a, b: Fraction((b - a).days),
    "units_to_price": lambda a, sheet: max(Fraction(0), a - sheet["free_units"]),
}

def matching(name, names):
    return [other for other in names if re.fullmatch(name.replace("*", "[0-9]+"), other)]

def read_facts(facts, rule, currency, sheets, place):
    """Reads the values of the facts, which have the rule's names, order and units."""
    given, demanded, values = [fact["name"] for fact in facts], [], {}
    for name, unit in rule:
        times = len(matching(name, given)) if "*" in name else 1
        demanded += [(name.replace("*", str(index + 1)), unit) for index in range(times)]
    demand(given == [name for name, _ in demanded], place, "are not the rule's")
    demand("opposite_1" in given or "earlier_1" not in given, place, "have earlier_1 alone")
    for (name, unit), fact in zip(demanded, facts):
        value, here, unit = fact["value"], f"{place} {name}", currency if unit == "money" else unit
        demand(fact["unit"] == unit, here, f"has not the unit {unit}")
        conforms(value, {"price_sheet": "|".join(sheets), "date": day}.get(unit, DECIMAL), here)
        read = {"price_sheet": sheets.get, "date": date.fromisoformat}.get(unit, Fraction)
        values[name] = read(value)
    return values

def check_account(account, rule, document, sheets, place):
    """Derives steps, result and amount from the facts, and compares."""
    documents, kind, facts, steps = RULES[rule]
    demand(documents in ("both", document["object"]), place, "has a rule of other documents")
    values = read_facts(account["facts"], facts, document["currency"], sheets, f"{place} facts")
    sheet, given = values.get("sheet"), account["steps"]
    found = sheet and ["meter" if "meter" in sheet else "plan",
                       "flat_fee" if sheet["type"] == "flat_fee" else "units"]
    demand(not sheet or found == kind, f"{place} facts sheet", f"is not of {kind}")
    credit = documents == "both" and document["object"] == "credit_note"
    steps, values["places"] = steps + [("credit", "neg", "amount")] * credit, document["places"]
    for index, (name, op, *terms) in enumerate(steps):
        here, op = f"{place} step {name}", PRICE[sheet["type"]] if op == "price" else op
        terms = matching(terms[0], values) if terms[0].endswith("*") else terms
        used, step = [values[term] for term in terms], {"id": name, "op": op, "in": terms}
        demand(op != "div" or used[1], here, "divides by zero")
        if op in PRICE.values():
            rows = step["rows"] = price_rows(op, sheet, *used[:-1])
            terms = [Fraction(row["quantity"] or 1) * Fraction(row["price"]) for row in rows]
            values[name] = sum(terms, Fraction(0))
        else:
            values[name] = OPERATIONS[op](*used)
            step.update({"rounding": "half_away_from_zero"} if op == "round" else {})
        step["out"] = write(values[name])
        demand(given[index:index + 1] == [step], here, f"is not {json.dumps(step)}")
    demand(len(given) == len(steps), place, "has more steps than the rule")
    demand(account["result"] == step["out"], f"{place} result", f"is not {step['out']}")
    demand(Fraction(account["amount"]) == values[name], f"{place} amount", "is not the result")

def check_sheet(sheet):
    """Demands that the content has its name, and prices where its type has them."""
    tiers, name = sheet["tiers"], sheet["name"]
    rest = {member: sheet[member] for member in sheet if member != "name"}
    canonical = json.dumps(rest, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    demand(hashlib.sha256(canonical.encode()).hexdigest()[:32] == name, name, "has another content")
    is_plain, is_step = sheet["type"] in ("flat_fee", "per_unit"), sheet["type"] == "stairstep"
    demand(not tiers if is_plain else tiers and sheet["price"] == "0", name, "has prices elsewhere")
    bounds = [0, *(float("inf") if tier["up_to"] is None else tier["up_to"] for tier in tiers)]
    demand(all(a < b for a, b in zip(bounds, bounds[1:])), name, "has bounds that do not rise")
    lacks = [(tier["unit_price"] is None, tier["flat_price"] is None and is_step) for tier in tiers]
    demand(all(lack == (is_step, False) for lack in lacks), name, "has another price")
    return name

def check(document):
    """Verifies an explanation, and returns how many lines and sheets it has."""
    conforms(document, DOCUMENT, "document")
    lines, names = document["lines"], [sheet["name"] for sheet in document["sheets"]]
    demand(document["places"] == PLACES.get(document["currency"], 2), "places", "do not follow")
    ids = [document["id"], document["number"], *(line["line"] for line in lines)]
    demand(ids.count(None) in (0, len(ids)), "id", "is null only with number and lines")
    sheets = {check_sheet(sheet): sheet for sheet in document["sheets"]}
    used = {fact["value"] for line in lines for fact in line["facts"] if fact["name"] == "sheet"}
    demand(names == sorted(used), "sheets", "are not those that the lines name, sorted")
    for index, line in enumerate(lines):
        place = f"line {index + 1} ({line['line']})"
        check_account(line, line["rule"], document, sheets, place)
        if "was" in line:
            kept = [[fact["value"] for fact in of["facts"][1:]] for of in (line, line["was"])]
            demand(line["rule"] == "plan/1" and kept[0] == kept[1], place, "was another price")
            check_account(line["was"], line["rule"], document, sheets, f"{place} was")
    subtotal = sum(Fraction(line["amount"]) for line in lines)
    demand(Fraction(document["subtotal"]) == subtotal, "subtotal", "is not the lines' sum")
    ledger = document.get("ledger", {"tax": 0, "total": subtotal})
    demand(Fraction(ledger["total"]) == subtotal + Fraction(ledger["tax"]), "ledger", "is wrong")
    return f"lines: {len(lines)}, sheets: {len(names)}"

def once(pairs):
    demand(len(dict(pairs)) == len(pairs), "JSON", "has a member twice")
    return dict(pairs)

def digits(written):
    demand(re.fullmatch("0|[1-9][0-9]{0,15}", written), "JSON", "has a number that is no count")
    return int(written)

def answer(data):
    """Says in one line whether this text is verified."""
    try:
        read = {"parse_int": digits, "parse_float": digits, "parse_constant": digits}
        return f"verified, {check(json.loads(data.decode(), object_pairs_hook=once, **read))}"
    except (ValueError, RecursionError) as fault:
        return f"does not follow: {ascii(str(fault))[1:-1]}"

if __name__ == "__main__":
    getattr(sys, "set_int_max_str_digits", id)(0)  # Texts of numbers have no limit.
    by_line, path = sys.argv[1:] == ["--lines"], (sys.argv[1:] or ["-"])[0]
    with open(0 if by_line or path == "-" else path, "rb") as source:
        answers = [answer(data) for data in (source if by_line else [source.read()])]
    print(*answers, sep="\n")
    sys.exit(not all(said.startswith("verified") for said in answers))
