/** `engine.decide` with one verified token, again and again, and the three look-ups that it may cost at most. */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { PolicyEngine } from '@signet/policy-engine';
import { epochSeconds, systemClock } from '@signet/policy-engine/clock';
import { certificateThumbprint } from '@signet/policy-engine/token';
import type { Jwk } from '@signet/policy-engine/wire';
import { createWorkload, domain, type Question } from './workload.ts';

const issuer = 'https://localhost:4443/v1';
const kid = 'benchmark';

/** Decisions a second of processor time. */
export interface TokenRates {
  readonly decide: number;
  readonly decideRoles: number;
  readonly threeLookUps: number;
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function signToken(key: KeyObject, roles: readonly string[], thumbprint: string): string {
  const now = epochSeconds(systemClock);
  const claims = {
    ver: 1,
    iss: issuer,
    aud: domain,
    sub: 'media.player',
    uid: 'media.player',
    client_id: 'media.player',
    iat: now,
    exp: now + 7200,
    jti: 'benchmark',
    scp: roles,
    cnf: { 'x5t#S256': thumbprint },
  };
  const input = `${base64url({ alg: 'ES256', kid, typ: 'at+jwt' })}.${base64url(claims)}`;
  const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' });
  return `${input}.${signature.toString('base64url')}`;
}

async function perCpuSecond(cpuMs: number, run: (count: number) => unknown): Promise<number> {
  const step = 4096;
  await run(step * 8);
  const start = process.cpuUsage();
  for (let done = step; ; done += step) {
    await run(step);
    const { user, system } = process.cpuUsage(start);
    if (user + system >= cpuMs * 1000) return done / ((user + system) / 1e6);
  }
}

async function measure(cpuMs: number): Promise<TokenRates> {
  const { rules, questions } = createWorkload({ size: 10_000, layout: 'many roles', kind: 'exact' });
  const asked: readonly Question[] = questions.get('hit, 1 role') ?? [];
  const [first] = asked;
  if (first === undefined) throw new Error('no question');
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const jwk: Jwk = { kty: 'EC', crv: 'P-256', x, y, kid, alg: 'ES256', use: 'sig' };
  const certificate = { raw: new Uint8Array(randomBytes(600)) };
  const token = signToken(privateKey, first.roles, certificateThumbprint(certificate));
  const engine = PolicyEngine.fromDomains(
    { [domain]: [{ name: 'benchmark', assertions: [...rules] }] },
    { keys: { keys: [jwk] }, issuers: [issuer] },
  );
  const { action, resource, roles } = first;
  const { status } = await engine.decide({ token, action, resource, certificate });
  if (status !== (first.allowed ? 'ALLOW' : 'DENY')) throw new Error(`wrong answer ${status}`);

  let seen = 0;
  const decide = await perCpuSecond(cpuMs, async (count) => {
    for (let i = 0; i < count; i++) {
      if ((await engine.decide({ token, action, resource: `${domain}:${first.entity}`, certificate })) !== undefined)
        seen++;
    }
  });
  const decideRoles = await perCpuSecond(cpuMs, (count) => {
    for (let i = 0; i < count; i++) {
      const answer = engine.decideRoles({ domain, roles, action, resource: `${domain}:${first.entity}` });
      if (answer.status !== 'DENY_NO_MATCH') seen++;
    }
  });
  const tokens = new Map([[token, 1]]);
  const names = new Map(rules.map((rule) => [rule.resource, 1]));
  const rolesByName = new Map(rules.map((rule) => [rule.role, 1]));
  const role = first.roles[0] ?? '';
  const threeLookUps = await perCpuSecond(cpuMs, (count) => {
    for (let i = 0; i < count; i++) {
      seen += tokens.get(token) ?? 0;
      seen += rolesByName.get(role) ?? 0;
      seen += names.get(`${domain}:${first.entity}`) ?? 0;
    }
  });
  if (seen === 0) throw new Error('nothing was decided');
  return { decide, decideRoles, threeLookUps };
}

process.on('message', (cpuMs: number) => {
  measure(cpuMs).then(
    (rates) => process.send?.(rates),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.once('disconnect', () => process.exit());
