# Reads a challenge of Vestibule. Solves and verifies it with the package altcha, and writes the solution, and a challenge of its own
# with its solution. Arguments: the secrets of signature and key.
import json
import sys

import altcha

secret, key_secret = sys.argv[1:]
challenge = altcha.Challenge.from_dict(json.load(sys.stdin))
solution = altcha.solve_challenge(challenge)
result = altcha.verify_solution(altcha.Payload(challenge, solution), secret, hmac_key_secret=key_secret)
parameters = challenge.parameters
own = altcha.create_challenge(
    parameters.algorithm,
    parameters.cost,
    counter=7,
    expires_at=parameters.expires_at,
    data=parameters.data,
    hmac_secret=secret,
    hmac_key_secret=key_secret,
)
own_solution = altcha.solve_challenge(own)
print(
    json.dumps(
        {
            "verified": result.verified,
            "solution": solution.to_dict(),
            "own": {"challenge": own.to_dict(), "solution": own_solution.to_dict()},
        }
    )
)
