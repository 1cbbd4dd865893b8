import type { AssertionInput, Decision, DecisionContext, PolicyEngine, Status } from '@signet/policy-engine';
import {
  type PrincipalName,
  parseActionName,
  parseDomainName,
  parsePolicyName,
  parsePrincipalName,
  parseRoleName,
} from '@signet/policy-engine/names';
import type { TestAuthority } from '@signet/policy-engine/testing';
import { checkAccess } from '@signet/server/access/check-access';
import { emptyDomain } from '@signet/server/model/empty-domain';
import type { DomainRecord } from '@signet/server/model/records';
import { compileSnapshot } from '@signet/server/snapshot/compile-snapshot';
import { referenceDecide } from './reference.ts';

/** Request about the domain `catalog`, and its policy. */
export interface RequiredAccess {
  assertions: readonly AssertionInput[];
  roles: readonly string[];
  action: string;
  /** `catalog:entity`. */
  resource: string;
  context?: DecisionContext;
}

/** Answer of a door: the status, and the place of the deciding assertion. */
export interface Answer {
  status: Status;
  decidedBy?: number;
}

const policyName = 'catalog:policy.p';

function answer(asked: RequiredAccess, { status, assertion }: Pick<Decision, 'status' | 'assertion'>): Answer {
  if (assertion === undefined) return { status };
  const { effect, role, action, resource } = assertion;
  const decidedBy = asked.assertions.findIndex(
    (one) =>
      (one.effect ?? 'ALLOW') === effect && one.role === role && one.action === action && one.resource === resource,
  );
  return { status, decidedBy };
}

/** The plain evaluator of the tests. */
export function referenceDoor(asked: RequiredAccess): Answer {
  const { assertions, roles, action, resource, context } = asked;
  const { status, assertion } = referenceDecide(
    { catalog: [{ name: policyName, assertions }] },
    { domain: 'catalog', roles, action, resource, ...(context !== undefined && { context }) },
  );
  return answer(asked, { status, ...(assertion && { assertion: { effect: 'ALLOW', ...assertion } }) });
}

export function catalogEngine(authority: TestAuthority, assertions: readonly AssertionInput[]): PolicyEngine {
  return authority.engine({ catalog: [{ name: policyName, assertions }] }, { requireBound: false });
}

/** The library, with a token. */
export async function engineDoor(engine: PolicyEngine, token: string, asked: RequiredAccess): Promise<Answer> {
  const { action, resource, context } = asked;
  return answer(asked, await engine.decide({ token, action, resource, ...(context !== undefined && { context }) }));
}

/** The server's access check, about a principal that is listed in exactly the roles asked for. */
export function serverDoor(asked: RequiredAccess): Answer {
  const [only] = serverDoors(asked.assertions, [asked]);
  if (only === undefined) throw new Error('no answer');
  return only;
}

/** The same for several requests of one policy: each has a principal of its own. */
export function serverDoors(
  assertions: readonly AssertionInput[],
  requests: readonly Omit<RequiredAccess, 'assertions'>[],
): Answer[] {
  const { snapshot, problems } = compileSnapshot(undefined, {
    state: { epoch: 0, counter: 1, head: '' },
    deleted: [],
    signingKeys: [],
    isPart: true,
    domains: [catalogRecord(assertions, requests)],
  });
  for (const { error } of problems) throw error;
  return requests.map(({ action, resource }, index) => {
    const query = { principal: principalOf(index), action: parseActionName(action), resource };
    const { decision, granted } = checkAccess(snapshot, query, 0);
    if (granted !== (decision.status === 'ALLOW')) throw new Error('`granted` and the status differ');
    return { status: decision.status, ...(decision.assertion && { decidedBy: decision.assertion.id ?? -1 }) };
  });
}

function principalOf(index: number): PrincipalName {
  return parsePrincipalName(`media.player${index}`);
}

function catalogRecord(
  assertions: readonly AssertionInput[],
  requests: readonly Omit<RequiredAccess, 'assertions'>[],
): DomainRecord {
  const roles = new Set(requests.flatMap((request) => request.roles));
  const membersOf = (role: string) =>
    requests.flatMap((request, index) =>
      request.roles.includes(role) ? [{ name: principalOf(index), disabled: false }] : [],
    );
  return {
    ...emptyDomain(parseDomainName('catalog')),
    policyVersion: 1,
    policyModified: 0,
    roles: [...roles].map((role) => ({ name: parseRoleName(role), members: membersOf(role) })),
    policies: [
      {
        name: parsePolicyName('p'),
        version: '0',
        active: true,
        caseSensitive: false,
        modified: 0,
        assertions: assertions.map((assertion, id) => ({ effect: 'ALLOW', ...assertion, id, caseSensitive: false })),
      },
    ],
  };
}
