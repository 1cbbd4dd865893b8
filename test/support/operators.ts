import type { DomainSketch } from './domain-sketch.ts';
import type { Pki } from './pki.ts';
import type { Caller, CallerOptions } from './start-server.ts';

/** The domain `sys.auth` with an operator, `sys.auth.operator`. */
export const operatorsDomain: DomainSketch = {
  name: 'sys.auth',
  services: { operator: {} },
  roles: { admin: ['sys.auth.operator'] },
  policies: { administration: [['ALLOW', 'admin', '*', '*']] },
};

/** Long enough for every clock of a test. */
const life = { notBefore: 1_500_000_000_000, notAfter: 4_000_000_000_000 };

/** Status of a server for its operator, and the status of the answer as `code`. */
export async function readinessOf(
  { as }: { readonly as: (who?: CallerOptions) => Caller },
  { odd }: Pki,
): Promise<Readonly<Record<string, unknown>>> {
  const { status, body } = await as(await odd({ subject: 'CN=sys.auth.operator', ...life }))('^/readyz');
  return { ...Object(body), code: status };
}
