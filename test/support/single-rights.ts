import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSshAuthorityKey } from '@signet/server/ssh/ssh-authority';
import type { DomainSketch } from './domain-sketch.ts';
import { send } from './management-world.ts';
import { type Caller, caller, type Ending, startServer } from './start-server.ts';
import { startSts, stsAccess } from './sts.ts';
import { temporaryFolder } from './temp.ts';

/* Servers on which each holder has one right. */

/** Where a holder's one rule stands: in `sys.auth` for its one domain or for everything, or in the domain's own policy. */
export type Grant = 'one' | 'all' | 'own';

export interface Holder {
  readonly grant: Grant;
  readonly right: string;
  /** Distinguishes what this holder makes from what others make. */
  readonly tag: string;
  readonly principal: string;
  /** The domain that the right is given for, or in. */
  readonly target: string;
}

export function holderOf(grant: Grant, right: string): Holder {
  const tag = `${grant}-${right.replaceAll('_', '-')}`;
  return { grant, right, tag, principal: `keeper.${tag}`, target: `t-${tag}` };
}

/** A domain with something to gain: its service `chief` has authority in it, `plain` has none. The operator may do everything in it. */
function prize(name: string): DomainSketch {
  return {
    name,
    roles: {
      admin: ['user.boss', 'sys.auth.operator'],
      reader: ['user.reader', 'sys.auth.operator', `${name}.plain`],
      chiefs: [`${name}.chief`],
      idle: ['user.idle'],
      launchers: ['sys.auth.server'],
    },
    services: { plain: {}, chief: {} },
    policies: {
      films: [['ALLOW', 'reader', 'read', 'film']],
      management: [['ALLOW', 'chiefs', 'view_domain', '*']],
      // The server's own provider launches everywhere: a join token is all that is missing.
      launching: [['ALLOW', 'launchers', 'launch', 'service.*']],
      administration: [
        ['ALLOW', 'admin', '*', '*'],
        ['ALLOW', 'admin', 'assume_aws_role', 'nightly'],
      ],
    },
  };
}

/** On the resources of its domain that the right is asked for; these two are given for exact names alone. */
function resourceOf({ grant, right, target }: Holder): string {
  if (grant === 'one') return `domain.${target}`;
  return right === 'assume_aws_role' ? 'nightly' : right === 'assume_role' ? 'role.reader' : '*';
}

function withGrant(sketch: DomainSketch, holder: Holder): DomainSketch {
  const { tag, principal, right } = holder;
  const { roles = {}, policies = {} } = sketch;
  return {
    ...sketch,
    roles: { ...roles, [tag]: [principal] },
    policies: { ...policies, [tag]: [['ALLOW', tag, right, resourceOf(holder)]] },
  };
}

function systemDomain(holders: readonly Holder[]): DomainSketch {
  const { roles, services, policies, ...rest } = prize('sys.auth');
  const base: DomainSketch = {
    ...rest,
    roles: { ...roles, admin: ['sys.auth.operator', 'user.root'] },
    services: { ...services, server: {}, operator: {} },
    policies: { ...policies, instances: [['ALLOW', 'launchers', 'launch', 'instance']] },
  };
  return holders.filter(({ grant }) => grant !== 'own').reduce(withGrant, base);
}

function worldOf(holders: readonly Holder[]): readonly DomainSketch[] {
  const targets = holders
    .filter(({ grant }) => grant !== 'all')
    .map((holder) => (holder.grant === 'own' ? withGrant(prize(holder.target), holder) : prize(holder.target)));
  const keeper = {
    name: 'keeper',
    services: Object.fromEntries([...holders.map(({ tag }) => [tag, {}]), ['none', {}]]),
  };
  return [systemDomain(holders), prize('other'), keeper, ...targets];
}

export interface RightsWorld {
  readonly profile: 'signet' | 'athenz';
  readonly operator: Caller;
  as(principal: string): Promise<Caller>;
  /** Without a certificate. */
  readonly stranger: Caller;
}

/** Server of this profile with all of them; `keeper.none` has no right. */
export async function rightsWorld(
  file: Ending,
  profile: RightsWorld['profile'],
  holders: readonly Holder[],
): Promise<RightsWorld> {
  process.env['AWS_ACCESS_KEY_ID'] = stsAccess.accessKeyId;
  process.env['AWS_SECRET_ACCESS_KEY'] = stsAccess.secretAccessKey;
  process.env['AWS_EC2_METADATA_DISABLED'] = 'true';
  const sts = await startSts(file);
  const authority = join(temporaryFolder(file), 'user.pem');
  writeFileSync(authority, createSshAuthorityKey(), { mode: 0o600 });
  const server = await startServer(file, {
    domains: worldOf(holders),
    options: {
      profile,
      'budgets.enabled': false,
      'accessChecks.restricted': true,
      'ssh.userAuthority': authority,
      'cloud.aws.region': 'eu-central-1',
      'cloud.aws.endpoint': sts.endpoint,
    },
  });
  const as = async (principal: string) => caller(file, server, await server.pki.identity(principal));
  const operator = await as('sys.auth.operator');
  for (const { name } of worldOf(holders)) {
    await operator(`^/management/v1/domains/${name}/accounts/aws`, send('PUT', { account: '123456789012' }));
  }
  return { profile, operator, as, stranger: caller(file, server) };
}
