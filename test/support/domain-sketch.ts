import {
  parseDomainName,
  parseGroupName,
  parseKeyId,
  parsePolicyName,
  parseRoleName,
  parseServiceName,
} from '@signet/policy-engine/names';
import type { Effect, WireConditions } from '@signet/policy-engine/wire';
import { emptyDomain } from '@signet/server/model/empty-domain';
import type { DomainContent, MemberRecord } from '@signet/server/model/records';

export interface RoleSketch {
  readonly members?: readonly (string | MemberRecord)[];
  readonly trust?: string;
  readonly tokenExpirySeconds?: number;
}

type Keys = Readonly<Record<string, string>>;

/** A service that is disabled although it has public keys. */
export interface DisabledService {
  readonly enabled: false;
  readonly publicKeys: Keys;
}

/** A domain in few words: what is left out is empty, enabled and unlimited. */
export interface DomainSketch {
  readonly name: string;
  readonly enabled?: boolean;
  readonly tokenExpirySeconds?: number;
  /** Names of roles to their members, or to more about them. */
  readonly roles?: Readonly<Record<string, readonly string[] | RoleSketch>>;
  readonly groups?: Readonly<Record<string, readonly string[]>>;
  /** Names of services to their public keys (id to PEM); `false` is a disabled service. */
  readonly services?: Readonly<Record<string, Keys | false | DisabledService>>;
  /** Policies by name; each assertion is `[effect, role, action, resource, conditions]` with short names. */
  readonly policies?: Readonly<
    Record<string, readonly (readonly [Effect, string, string, string, conditions?: WireConditions])[]>
  >;
}

/** The content of a domain as the store takes it. */
export function domainContent(sketch: DomainSketch): DomainContent {
  const name = parseDomainName(sketch.name);
  return {
    ...emptyDomain(name),
    enabled: sketch.enabled ?? true,
    limits: sketch.tokenExpirySeconds === undefined ? {} : { tokenExpirySeconds: sketch.tokenExpirySeconds },
    roles: Object.entries(sketch.roles ?? {}).map(([role, value]) => {
      const { members = [], trust, tokenExpirySeconds }: RoleSketch = isNames(value) ? { members: value } : value;
      return {
        name: parseRoleName(role),
        members: members.map(memberRecord),
        ...(trust !== undefined && { trust: parseDomainName(trust) }),
        ...(tokenExpirySeconds !== undefined && { tokenExpirySeconds }),
      };
    }),
    groups: Object.entries(sketch.groups ?? {}).map(([group, members]) => ({
      name: parseGroupName(group),
      members: members.map(memberRecord),
    })),
    policies: Object.entries(sketch.policies ?? {}).map(([policy, rules]) => ({
      name: parsePolicyName(policy),
      version: '0',
      active: true,
      caseSensitive: false,
      assertions: rules.map(([effect, role, action, resource, conditions]) => ({
        effect,
        role: `${name}:role.${role}`,
        action,
        resource: `${name}:${resource}`,
        caseSensitive: false,
        ...(conditions !== undefined && { conditions }),
      })),
    })),
    services: Object.entries(sketch.services ?? {}).map(([service, keys]) => ({
      name: parseServiceName(service),
      enabled: keys !== false && !isDisabled(keys),
      hosts: [],
      publicKeys: Object.entries(keysOf(keys)).map(([id, pem]) => ({ id: parseKeyId(id), pem })),
    })),
  };
}

function isDisabled(service: Keys | DisabledService): service is DisabledService {
  return service['enabled'] === false;
}

function keysOf(service: Keys | false | DisabledService): Keys {
  if (service === false) return {};
  return isDisabled(service) ? service.publicKeys : service;
}

function isNames(value: readonly string[] | RoleSketch): value is readonly string[] {
  return Array.isArray(value);
}

function memberRecord(member: string | MemberRecord): MemberRecord {
  return typeof member === 'string' ? { name: member, disabled: false } : member;
}
