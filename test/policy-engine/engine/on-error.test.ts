import { PolicyEngine, type PolicyEngineError } from '@signet/policy-engine';
import test from 'ava';

/* A fault inside a call denies, and does not pass in silence. */

const request = { token: 'x.y.z', action: 'read', resource: 'catalog:movie' };

/** Stand-in for an internal fault: every access throws. */
const broken = new Proxy({}, { get: () => fail() });

function fail(): never {
  throw new RangeError('a fault');
}

const calls: readonly (readonly [call: string, ask: (engine: PolicyEngine) => unknown])[] = [
  ['decide', (engine) => engine.decide(broken as never)],
  ['decideRoles', (engine) => engine.decideRoles(broken as never)],
  ['decideRoleCertificate', (engine) => engine.decideRoleCertificate(broken as never)],
  ['explain', (engine) => engine.explain(broken as never)],
  ['explainRoles', (engine) => engine.explainRoles(broken as never)],
];

for (const [call, ask] of calls) {
  test(`${call}: what fails inside is told with its cause, and denied`, async (t) => {
    const told: [PolicyEngineError, string][] = [];
    const engine = PolicyEngine.fromDomains(
      { catalog: [] },
      { issuers: ['https://issuer.example'], onError: (...fault) => void told.push(fault) },
    );
    const answer = (await ask(engine)) as { readonly status: string };
    t.is(answer.status, 'DENY_INVALID_PARAMETERS');
    t.deepEqual(
      told.map(([error, place]) => [error.code, place, error.cause instanceof RangeError]),
      [['request-failed', call, true]],
    );
  });
}

test('good calls tell nothing, and a listener that throws changes no answer', async (t) => {
  const told: unknown[] = [];
  const quiet = PolicyEngine.fromDomains({ catalog: [] }, { onError: (error) => void told.push(error) });
  t.is((await quiet.decide(request)).status, 'DENY_TOKEN_INVALID');
  t.is(
    quiet.decideRoles({ domain: 'catalog', roles: ['r'], action: 'read', resource: 'catalog:x' }).status,
    'DENY_DOMAIN_EMPTY',
  );
  t.deepEqual(told, []);
  const loud = PolicyEngine.fromDomains({ catalog: [] }, { onError: fail });
  t.is(loud.decideRoles(broken as never).status, 'DENY_INVALID_PARAMETERS');
});
