"""A loop to step through, with a dozen locals."""


def work(rounds):
    names = ["tea", "cup", "pot"]
    prices = {"tea": 4.5, "cup": 6.0, "pot": 18.0}
    text = "x" * 200
    total, count, pair = 0.0, 0, (1, 2)
    for number in range(rounds):  # stop here
        name = names[number % 3]
        price = prices[name]
        total += price
        count += 1
    return total, count, text, pair


work(1_000_000)
