import test from 'ava';
import { assertWithin, costOf, costsAreKnown } from '#support/cost';
import { json } from '#support/instance-world';
import { install, serve } from '#support/signet-program';

/* A tenant that changes its domain all the time, and hosts that poll it all the time: a signature a second is what that costs. */

const domains = [
  {
    name: 'sys.auth',
    services: { operator: {} },
    roles: { admin: ['sys.auth.operator'] },
    policies: { administration: [['ALLOW', 'admin', '*', '*'] as const] },
  },
  {
    name: 'catalog',
    roles: { reader: ['media.player'] },
    policies: { readers: [['ALLOW', 'reader', 'read', 'movie'] as const] },
  },
  { name: 'media', services: { player: {} } },
];

const changes = 1000;

test('1,000 changes while their bundles are fetched: one signature a second', async (t) => {
  t.timeout(180_000);
  const installation = await install(t, { domains, more: 'log: { requests: false }' });
  const serving = await serve(t, installation);
  const [operator, player, other] = await Promise.all(
    ['sys.auth.operator', 'media.player', 'media.player'].map(async (name) =>
      serving.as(await installation.pki.identity(name)),
    ),
  );
  if (operator === undefined || player === undefined || other === undefined) return t.fail();
  const signedP1363 = new Set<string>();
  const signedDer = new Set<string>();
  const payloads = new Set<string>();
  let isOver = false;
  let polls = 0;
  const poll = async (form: boolean | undefined) => {
    const path = '/domain/catalog/policy/signed';
    const { status, body, text } = await (form === undefined
      ? player(path)
      : other(path, json({ signatureP1363Format: form })));
    t.is(status, 200, text);
    const { payload, signature } = Object(body);
    // Each form has a signature of its own; a payload that was signed twice in one form would show.
    const seen = form === undefined ? signedP1363 : signedDer;
    seen.add(signature);
    payloads.add(payload);
    polls += 1;
    return JSON.parse(Buffer.from(payload, 'base64url').toString());
  };
  const before = costsAreKnown ? costOf(serving.pid).processorMs : 0;
  const start = performance.now();
  const polling = [undefined, false].map(async (form) => {
    while (!isOver) await poll(form);
  });
  for (let index = 0; index < changes; index += 1) {
    const rules = [{ role: 'reader', action: 'read', resource: `movie${index}` }];
    const { status, text } = await operator('^/management/v1/domains/catalog/policies/readers', json(rules, 'PUT'));
    t.true(status === 200 || status === 201, text);
  }
  isOver = true;
  await Promise.all(polling);
  const seconds = (performance.now() - start) / 1000;
  // Whoever asks after a change gets it.
  const { policyData } = await poll(undefined);
  t.is(policyData.policies[0].assertions[0].resource, `catalog:movie${changes - 1}`);
  t.log(`${changes} changes and ${polls} bundles fetched in ${seconds.toFixed(1)} s`);
  // The first at once, one for each second begun, and the last poll.
  assertWithin(t, 'bundles signed', payloads.size, Math.floor(seconds) + 3);
  t.true(signedP1363.size <= payloads.size && signedDer.size <= payloads.size, 'a payload was signed twice');
  if (costsAreKnown) t.log(`processor time of the server: ${costOf(serving.pid).processorMs - before} ms`);
});
