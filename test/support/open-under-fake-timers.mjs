import { PolicyEngine } from '@signet/policy-engine';
import { createTestAuthority } from '@signet/policy-engine/testing';
import { installFakeTimers } from './fake-timers.mjs';

/* Life of an engine under fake timers, in a process of its own: prints the status before and after a new bundle, and the number of records. */

const [policyDir = ''] = process.argv.slice(2);
const authority = await createTestAuthority();
const asked = { action: 'read', resource: 'catalog:movie' };
const write = (version, resource) => {
  const assertions = [{ role: 'reader', action: 'read', resource }];
  return authority.writeBundle(policyDir, { domain: 'catalog', version, policies: [{ name: 'movies', assertions }] });
};
const token = await authority.token({ domain: 'catalog', roles: ['reader'] });
await write(1, 'movie');

installFakeTimers();
const records = [];
const engine = await PolicyEngine.open({
  policyDir,
  clock: authority.clock,
  requireBound: false,
  records: { write: async (batch) => void records.push(...batch) },
});
const before = await engine.decide({ token, ...asked });
await write(2, 'series');
await engine.refresh();
const after = await engine.decide({ token, ...asked });
const { ok } = engine.health();
await engine.close();
process.stdout.write(JSON.stringify({ before: before.status, after: after.status, ok, records: records.length }));
