import { expect, test } from 'vitest'

import { hostFrom, originFrom } from './address'

test.each([
  ['https://Tickets.example.com/shop?x=1#y', 'tickets.example.com'],
  ['tickets.example.com/shop', 'tickets.example.com'],
  ['tickets.example.com:8443', 'tickets.example.com'],
  ['*.Example.com', '*.example.com'],
  ['[::1]', '[::1]'],
  ['http://[::1]:8080/', '[::1]'],
  [' * ', '*'],
  ['not a host', 'not a host'],
])('the host of %s is %s', (pasted, host) => {
  expect(hostFrom(pasted)).toBe(host)
})

test.each([
  ['https://www.example.com/shop?x=1', 'https://www.example.com'],
  ['HTTP://Shop.example.com:8080/', 'http://shop.example.com:8080'],
  ['www.example.com/shop', 'https://www.example.com'],
  ['10.0.0.5:3000', 'https://10.0.0.5:3000'],
  ['https://www.example.com:443', 'https://www.example.com'],
  ['ftp://x.example.com', 'ftp://x.example.com'],
  ['nonsense', 'nonsense'],
  ['', ''],
])('the origin of %s is %s', (pasted, origin) => {
  expect(originFrom(pasted)).toBe(origin)
})
