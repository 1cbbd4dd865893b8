import { randomOctets } from '@signet/server/base/random-octets';
import test from 'ava';

for (const size of [0, 1, 8, 12, 16, 17, 32, 4096]) {
  test(`as many octets as were asked for: ${size}`, (t) => {
    const next = randomOctets();
    t.true(Array.from({ length: 500 }, () => next(size)).every(({ length }) => length === size));
  });
}

for (const size of [12, 16, 17]) {
  test(`none is given twice, nor changed afterwards: ${size} octets, for many blocks`, (t) => {
    const next = randomOctets();
    const given = Array.from({ length: 2000 }, () => {
      const octets = next(size);
      return { octets, text: octets.toString('hex') };
    });
    t.is(new Set(given.map(({ text }) => text)).size, given.length);
    t.true(given.every(({ octets, text }) => octets.toString('hex') === text));
  });
}
