import { readFileSync } from 'node:fs';
import { decideInDomain } from '@signet/policy-engine/policy';
import test from 'ava';

/* Playground of the site: documents, policy tests and a query in its pure part, without a browser. */

const playground = new URL('../../docs/site/playground/', import.meta.url);
const part = (name: string) => import(new URL(name, playground).href);
const { evaluate }: typeof import('../../docs/site/playground/evaluate.ts') = await part('evaluate.ts');
const { examples }: typeof import('../../docs/site/playground/examples.ts') = await part('examples.ts');
const { readDocuments }: typeof import('../../docs/site/playground/read-documents.ts') =
  await part('read-documents.ts');
const { maxTextLength }: typeof import('../../docs/site/playground/state.ts') = await part('state.ts');

type PlaygroundState = Parameters<typeof evaluate>[0];

const now = 1_800_000_000_000;

const stateOf = (changes: Partial<PlaygroundState> = {}): PlaygroundState => ({
  documents: `domain: catalog
roles:
  reader: { members: [media.player] }
policies:
  movies:
    - { action: read, resource: movie, role: reader }
`,
  tests: '',
  question: { principal: 'media.player', action: 'read', resource: 'movie', context: '' },
  ...changes,
});

/** Displayed answer, which must exist. */
function answerTo(state: PlaygroundState) {
  const { answer, problems } = evaluate(state, now);
  if (answer?.kind !== 'ok') throw new Error(`no answer: ${JSON.stringify({ answer, problems })}`);
  return answer;
}

const expected: Readonly<Record<string, readonly [headline: RegExp, step: string, through: string]>> = {
  role: [/^Not granted \(DENY_NO_MATCH\)/, 'membership of role editor of catalog', 'role reader'],
  group: [/^Granted/, 'removing user.jane from group critics of catalog', 'group catalog:group.critics'],
  trust: [
    /^Granted/,
    'an assertion DENY play on catalog:movie for catalog:role.player',
    'trust in domain media its role',
  ],
  condition: [
    /^Not granted/,
    'an assertion ALLOW purge on catalog:cache for catalog:role.operator',
    'where instances is',
  ],
  deny: [
    /^Not granted \(DENY\)/,
    'removing from policy movies: DENY read on catalog:movie.adult.* for catalog:role.guest',
    'assertion of policy movies DENY read on catalog:movie.adult.*',
  ],
  wildcard: [
    /^Granted/,
    'an assertion DENY read_all on catalog:movie.1 for catalog:role.reader',
    'member media.play*, then role reader',
  ],
};

test('there is an expectation for each example', (t) => {
  t.deepEqual(
    examples.map(({ id }) => id),
    Object.keys(expected),
  );
});

for (const { id, state } of examples) {
  test(`example ${id}: its tests pass, the flip turns the answer over and back, and the impact names the principal`, (t) => {
    const { problems, warnings, testWarnings, tests, impact } = evaluate({ ...state, baseline: state.documents }, now);
    t.deepEqual([problems, warnings, testWarnings], [[], [], []]);
    t.like(tests, { kind: 'ok', failed: 0 });
    t.deepEqual(impact, ['no principal gains or loses access']);
    const answer = answerTo(state);
    const [headline, step, through] = expected[id] ?? [/never/, '', ''];
    t.regex(answer.headline, headline);
    t.deepEqual(answer.flip?.steps, [step]);
    t.true(answer.picture.description.includes(through), answer.picture.description);
    const turned = { ...state, documents: answer.flip?.documents ?? '', baseline: state.documents };
    t.is(answerTo(turned).granted, !answer.granted);
    t.true(evaluate(turned, now).impact?.every((line) => /: (gains|loses) /.test(line)));
    const back = answerTo({ ...turned, documents: answerTo(turned).flip?.documents ?? '' });
    t.is(back.granted, answer.granted);
  });
}

test('a flip keeps the comments and the other documents', (t) => {
  const [, , trust] = examples;
  const { flip } = answerTo(trust?.state ?? stateOf());
  t.regex(
    flip?.documents ?? '',
    /^# The owner: .*\n[\s\S]*deny, action: play[\s\S]*\n---\n# The partner: [\s\S]*tv: {}\n {2}phone: {}\n$/,
  );
});

test('a flip leaves every other line as it is written', (t) => {
  const documents = `domain:  catalog # a comment
description: "what [ is ]  in it stays"
roles:
  reader:   { members: [media.player] }
  editor: {members: [ media.studio, media.player ]}   # as it is

policies:
  movies:
    # what a reader may
    - {action: write,  resource: movie, role: editor}
    - { action: read, resource: movie, role: reader, conditions: [{instances: "a,b"}] }
`;
  const question = { principal: 'media.guest', action: 'read', resource: 'movie', context: 'instances=b' };
  const changed = answerTo(stateOf({ documents, question })).flip?.documents?.split('\n') ?? [];
  const lines = documents.split('\n');
  t.deepEqual(
    lines.flatMap((line, at) => (line === changed[at] ? [] : [[at + 1, changed[at]]])),
    [[4, '  reader: { members: [ media.player, media.guest ] }']],
  );
});

test('a role that trusts another domain is not given members: the flip is told and cannot be applied', (t) => {
  const [, , trust] = examples;
  const state = trust?.state ?? stateOf();
  const { flip } = answerTo({ ...state, question: { ...state.question, principal: 'media.phone' } });
  t.deepEqual(flip, { steps: ['membership of role player of catalog'] });
});

test('an expired member is put in the place of the entry that expired', (t) => {
  const documents = stateOf().documents.replace(
    'media.player',
    '{ name: media.player, expires: 2020-01-01T00:00:00Z }',
  );
  const answer = answerTo(stateOf({ documents }));
  t.true(answer.reasons.includes('not in role reader (member media.player, expired)'));
  t.regex(answer.picture.description, /none; not in reader \(member media\.player, expired\)/);
  t.regex(answer.flip?.documents ?? '', /members: \[ media\.player \]/);
});

test('several denying assertions go together, whatever the version of the policy', (t) => {
  const documents = `domain: catalog
roles:
  reader: { members: [media.player] }
policies:
  movies:
    active: "2"
    versions:
      "1": []
      "2":
        - { effect: deny, action: read, resource: movie, role: reader }
        - { action: read, resource: movie, role: reader }
        - { effect: deny, action: "*", resource: movie, role: reader }
`;
  const { flip } = answerTo(stateOf({ documents }));
  t.is(flip?.steps.length, 2);
  t.true(answerTo(stateOf({ documents: flip?.documents ?? '' })).granted);
});

test('problems name the line of the whole text, in the second document too', (t) => {
  const documents = `${stateOf().documents}---\r\n# another\ndomain: media\nroles:\n  a b: {}\n`;
  const { problems, answer } = evaluate(stateOf({ documents }), now);
  t.is(answer, undefined);
  t.like(problems, [{ line: 11 }]);
  t.regex(problems[0]?.text ?? '', /^roles\.a b: is not/);
});

const refused: [note: string, documents: string, problem: RegExp][] = [
  ['nothing', '', /there is no domain document/],
  ['only comments', '# a\n---\n# b\n', /there is no domain document/],
  ['the same domain twice', `${stateOf().documents}---\n${stateOf().documents}`, /is declared in documents already/],
  ['a group that is not there', 'domain: a\nroles:\n  r: { members: ["b:group.c"] }\n', /b:group\.c|domain `b`/],
  ['another kind of document', '- 1\n', /must be a mapping/],
  ['no YAML', 'domain: [\n', /flow sequence/],
  ['brackets without end', `domain: ${'['.repeat(100_000)}`, /nested too deeply|flow sequence/],
  ['a text that is too long', ' '.repeat(maxTextLength + 1), /has more than 262144 characters/],
];
for (const [note, documents, problem] of refused) {
  test(`documents that are refused: ${note}`, (t) => {
    const { problems, ...rest } = evaluate(stateOf({ documents }), now);
    t.deepEqual(rest, { warnings: [], testWarnings: [] });
    t.regex(problems[0]?.text ?? '', problem);
  });
}

const questions: [field: string, question: Partial<PlaygroundState['question']>, message: RegExp][] = [
  ['principal', { principal: 'nobody at all' }, /principal is not/],
  ['action', { action: '' }, /is not/],
  ['resource', { resource: '' }, /must not be empty/],
  ['resource', { resource: 'films:movie' }, /domain `films` does not exist/],
  ['context', { context: 'colour=red' }, /keys: enforcementstate, instances/],
];
for (const [field, question, message] of questions) {
  test(`a question that is refused names its field: ${JSON.stringify(question)}`, (t) => {
    const state = stateOf();
    const { answer } = evaluate({ ...state, question: { ...state.question, ...question } }, now);
    t.like(answer, { kind: 'bad', problems: [{ field }] });
    t.regex(JSON.stringify(answer), message);
  });
}

test('failed tests name their line and why, and what no test tries is told', (t) => {
  const tests = `- { principal: media.player, action: read, resource: movie, expect: allow }
- { note: nobody writes, principal: media.player, action: write, resource: movie, expect: allow }
`;
  const documents = `${stateOf().documents}    - { action: list, resource: movie, role: reader }\n`;
  t.like(evaluate(stateOf({ documents, tests }), now).tests, {
    kind: 'ok',
    passed: 1,
    failed: 1,
    results: [
      { line: 1, passed: true },
      {
        line: 2,
        passed: false,
        text: 'nobody writes: media.player write catalog:movie: expected allow, decided DENY_NO_MATCH (roles reader; no assertion matches)',
      },
    ],
    coverage: { covered: 1, total: 2 },
  });
});

test('a name in a test that does not exist is warned of beside the tests', (t) => {
  const tests = '\n- { roles: [raeder], action: read, resource: movie, expect: deny }\n';
  const { warnings, testWarnings } = evaluate(stateOf({ tests }), now);
  t.deepEqual(warnings, []);
  t.like(testWarnings, [{ line: 2 }]);
  t.regex(testWarnings[0]?.text ?? '', /no role `raeder`.*`reader`/);
});

test('tests that cannot be read leave the answer as it is', (t) => {
  const { tests, answer } = evaluate(stateOf({ tests: '- { expect: perhaps }\n' }), now);
  t.like(tests, { kind: 'bad', problems: [{ line: 1 }] });
  t.like(answer, { kind: 'ok', granted: true });
  t.like(evaluate(stateOf({ tests: ' '.repeat(maxTextLength + 1) }), now).tests, { kind: 'bad' });
});

test('a baseline with problems is told', (t) => {
  t.deepEqual(evaluate(stateOf({ baseline: 'x' }), now).impact, ['cannot be told, the baseline has problems']);
});

test('many ways and roles are counted in the picture', (t) => {
  const roles = Array.from({ length: 5 }, (_, at) => `  r${at}: { members: [media.player] }\n`).join('');
  const { picture } = answerTo(stateOf({ documents: `domain: catalog\nroles:\n${roles}` }));
  t.deepEqual(
    picture.rows[1]?.map(({ text }) => text),
    ['r0', 'r1', '3 more'],
  );
});

test('the documents of the sample are evaluated as they are', (t) => {
  const policies = (name: string) => readFileSync(new URL(`../../policies/${name}.yaml`, import.meta.url), 'utf8');
  const documents = ['catalog', 'media', 'sys.auth'].map(policies).join('---\n');
  const { problems, tests } = evaluate(stateOf({ documents, tests: policies('catalog.cases') }), now);
  t.deepEqual(problems, []);
  t.like(tests, { kind: 'ok', failed: 0 });
  t.true(tests?.kind === 'ok' && tests.passed > 20);
});

test('the answer is that of the engine for the same roles', (t) => {
  const read = readDocuments(stateOf().documents, '', now);
  const policy = read.kind === 'ok' ? read.snapshot.domain(read.domain)?.policy : undefined;
  t.is(policy && decideInDomain(policy, ['reader'], 'read', 'catalog:movie').status, 'ALLOW');
  t.true(answerTo(stateOf()).granted);
});
