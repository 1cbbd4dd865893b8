import {
  type BundleFloor,
  isOlder,
  isSameFloor,
  type KnownFloor,
  maxVersionJump,
  raiseFloor,
  refuseSuccessor,
} from '@signet/policy-engine/bundle';
import test from 'ava';

/* Succession of bundles, and the floors kept of them: each member alone. */

const floor = { epoch: 2, version: 5, issued: 100, digest: 'sha256:a' };

const successors: [
  note: string,
  next: Partial<BundleFloor>,
  known: BundleFloor | undefined,
  code: string | undefined,
][] = [
  ['the same again', {}, floor, undefined],
  ['a newer version', { version: 6, digest: 'sha256:b' }, floor, undefined],
  ['an older version', { version: 4 }, floor, 'bundle-rollback'],
  ['an older epoch', { epoch: 1, version: 9 }, floor, 'bundle-rollback'],
  ['a newer epoch with a lower version, issued before', { epoch: 3, version: 1, issued: 1 }, floor, undefined],
  ['a version that was issued before', { version: 6, issued: 99 }, floor, 'bundle-issued-earlier'],
  ['other policies', { digest: 'sha256:b' }, floor, 'bundle-equivocation'],
  ['a digest of another form', { digest: 'v2:b' }, floor, undefined],
  ['other policies than one without a digest', { digest: 'sha256:b' }, { epoch: 2, version: 5 }, undefined],
  ['one issued before one of an unknown time', { issued: 1 }, { epoch: 2, version: 5 }, undefined],
  ['the longest jump of versions', { version: 5 + maxVersionJump }, floor, undefined],
  ['one more', { version: 6 + maxVersionJump }, floor, 'bundle-version-jump'],
  ['the longest jump of epochs', { epoch: 2 + maxVersionJump }, floor, undefined],
  ['one more epoch', { epoch: 3 + maxVersionJump }, floor, 'bundle-version-jump'],
  ['the longest jump from nought', { epoch: maxVersionJump, version: maxVersionJump }, undefined, undefined],
  ['one more than from nought', { version: maxVersionJump + 1 }, undefined, 'bundle-version-jump'],
];
for (const [note, next, known, code] of successors) {
  test(`a successor: ${note}`, (t) =>
    t.is<unknown, unknown>(refuseSuccessor({ ...floor, ...next }, known)?.code, code));
}

test('a refused jump says from where', (t) => {
  const next = { ...floor, version: 6 + maxVersionJump };
  t.regex(refuseSuccessor(next, floor)?.message ?? '', /ahead of those accepted before \(.*5.*\)$/);
  t.regex(refuseSuccessor(next, undefined)?.message ?? '', /ahead of nought$/);
});

const raised: [note: string, known: BundleFloor | undefined, next: BundleFloor, expected: BundleFloor][] = [
  ['from nothing', undefined, floor, floor],
  ['to a newer version', floor, { epoch: 2, version: 6 }, { epoch: 2, version: 6 }],
  ['to a newer epoch', floor, { epoch: 3, version: 1, issued: 1 }, { epoch: 3, version: 1, issued: 1 }],
  ['not to an older version', floor, { ...floor, version: 4, issued: 200 }, floor],
  ['not by other policies', floor, { ...floor, issued: 200, digest: 'sha256:b' }, floor],
  ['by a later issue', floor, { ...floor, issued: 200 }, { ...floor, issued: 200 }],
  ['not by an earlier issue', floor, { ...floor, issued: 50 }, floor],
  ['not by one that knows less', floor, { epoch: 2, version: 5 }, floor],
  ['by one that knows more', { epoch: 2, version: 5 }, floor, floor],
  ['by a digest of another form', floor, { ...floor, digest: 'v2:b' }, { ...floor, digest: 'v2:b' }],
  ['where neither knows more', { epoch: 2, version: 5 }, { epoch: 2, version: 5 }, { epoch: 2, version: 5 }],
];
for (const [note, known, next, expected] of raised) {
  test(`a floor rises ${note}`, (t) => t.deepEqual(raiseFloor(known, next), expected));
}

test('a floor remembers nothing else of a bundle', (t) => {
  const bundle = { ...floor, policies: [] };
  t.deepEqual(raiseFloor(undefined, bundle), floor);
});

test('floors are the same in everything or not at all', (t) => {
  t.true(isSameFloor(floor, { ...floor }));
  t.false(isSameFloor(undefined, floor));
  const others = [{ epoch: 3 }, { version: 6 }, { issued: 101 }, { digest: 'sha256:b' }];
  t.deepEqual(
    others.map((other) => isSameFloor(floor, { ...floor, ...other })),
    others.map(() => false),
  );
});

test('the epoch comes before the version', (t) => {
  const at = (epoch: number, version: number) => isOlder({ epoch, version }, { epoch: 2, version: 5 });
  t.deepEqual([at(2, 4), at(2, 5), at(2, 6), at(1, 9), at(3, 1)], [true, false, false, true, false]);
});

const [digest, content] = ['sha256:a', 'content'];
const contents: [note: string, known: KnownFloor, next: KnownFloor, expected: KnownFloor][] = [
  ['its digest is the same', floor, { ...floor, content }, { ...floor, content }],
  ['the digest is the first', { epoch: 2, version: 5 }, { ...floor, content }, { ...floor, content }],
  [
    'its version is newer',
    { ...floor, content: 'old' },
    { ...floor, version: 6, content },
    { ...floor, version: 6, content },
  ],
];
for (const [note, known, next, expected] of contents) {
  test(`a floor takes over the content of a bundle: ${note}`, (t) => t.deepEqual(raiseFloor(known, next), expected));
}

test('a floor keeps its content with its digest', (t) => {
  const known = { ...floor, content };
  t.deepEqual(raiseFloor(known, floor), known);
  t.deepEqual(raiseFloor(known, { epoch: 2, version: 5, content: 'other' }), known, 'of no digest');
  t.deepEqual(raiseFloor(known, { ...floor, digest: 'sha256:b', content: 'other' }), known, 'of other policies');
  t.deepEqual(raiseFloor(known, { ...floor, digest: 'v2:b' }), { ...floor, digest: 'v2:b' });
  t.false(isSameFloor({ ...floor, digest }, known));
});
