import { JsonList, JsonText, jsonInSteps, piecesOf, quotedPieces } from '@signet/server/steps/json-steps';
import { runAtOnce } from '@signet/server/steps/steps';
import test from 'ava';

test('JSON in slices is what JSON.stringify makes', (t) => {
  const members = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ name: `user."${index}"`, at: null }));
  for (const value of [
    {},
    [],
    'text',
    { a: undefined, b: [], 2: true, 1: { c: members(3) } },
    { few: members(999), full: members(1000), more: members(1001), many: members(2500) },
    [[1, 2], members(1001)],
    Array.from({ length: 1001 }, (_, index) => ({ name: `role${index}`, members: members(index === 5 ? 2000 : 1) })),
  ]) {
    t.is(runAtOnce(jsonInSteps(value)), JSON.stringify(value));
  }
});

test('a long list is made in slices, and text that is JSON stays as it is', (t) => {
  const steps = jsonInSteps({ items: Array.from({ length: 100_000 }, String) });
  let count = 0;
  while (steps.next().done !== true) count += 1;
  t.true(count >= 100, `${count}`);
  t.is(runAtOnce(jsonInSteps([{ before: new JsonText('{"a":[1]}') }])), '[{"before":{"a":[1]}}]');
});

test('a long list in one item of a long list is made in slices too', (t) => {
  const items = Array.from({ length: 2000 }, (_, index) => ({
    members: index === 7 ? Array(50_000).fill('user.a') : [],
  }));
  let count = 0;
  for (const _ of jsonInSteps(items)) count += 1;
  t.true(count >= 50, `${count}`);
});

test('a list that is put into its shape on the way is what JSON.stringify makes of it', (t) => {
  const shape = (index: number) => (index % 2 === 0 ? `user.${index}` : { name: `user.${index}`, disabled: true });
  for (const length of [0, 1, 1000, 1001, 2500]) {
    const items = Array.from({ length }, (_, index) => index);
    const list = new JsonList(items, shape);
    const expected = JSON.stringify({ members: items.map(shape) });
    t.is(runAtOnce(jsonInSteps({ members: list })), expected);
    t.is(JSON.stringify({ members: list }), expected);
  }
});

test('a text in pieces is the text, and no pair of surrogates is taken apart', (t) => {
  const [pair, lone] = ['\u{1f600}', '\ud83d'];
  for (const text of ['', 'a', pair, `abc${pair}${pair}${lone}`, lone.repeat(9), `${pair.repeat(9)}"\n`]) {
    const pieces = [...piecesOf(text, 4)];
    t.is(pieces.join(''), text);
    t.true(pieces.every((piece) => piece.length > 0 && piece.length <= 4));
    t.is(Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString('hex'), Buffer.from(text).toString('hex'));
    t.is([...quotedPieces(text)].join(''), JSON.stringify(text));
  }
  const long = `${'x'.repeat(131_071)}${pair}${'y'.repeat(300_000)}`;
  t.is([...quotedPieces(long)].join(''), JSON.stringify(long));
  t.true([...quotedPieces(long)].length >= 5);
});
