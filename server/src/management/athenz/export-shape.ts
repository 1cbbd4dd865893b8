import { z } from 'zod';
import { list, mapping } from '../documents/strict.ts';

/*
 * Schema of a domain from ZMS (its type DomainData): the members that are read. Others stay beside them, to be reported. Members may be null,
 * and numbers and booleans may be strings, as the plain output of zms-cli has them.
 */

const text = z.string().nullish();
const flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((value) => value === 'true')]).nullish();
const count = z
  .union([
    z.int(),
    z
      .string()
      .regex(/^\d{1,10}$/, 'must be an integer')
      .transform(Number),
  ])
  .nullish();
/** Disabled mark of zms-cli and ZMS: `true`, or the bits of the reasons. */
const disabled = z
  .union([
    flag.unwrap().unwrap(),
    count
      .unwrap()
      .unwrap()
      .transform((bits) => bits !== 0),
  ])
  .nullish();

const memberShape = z.looseObject({
  memberName: z.string(),
  expiration: text,
  reviewReminder: text,
  active: flag,
  approved: flag,
  pending: flag,
  systemDisabled: disabled,
  principalType: count,
});

const roleShape = z.looseObject({
  name: z.string(),
  description: text,
  trust: text,
  members: list(z.array(z.unknown())).nullish(),
  roleMembers: list(z.array(memberShape)).nullish(),
  tokenExpiryMins: count,
  certExpiryMins: count,
  reviewEnabled: flag,
  selfServe: flag,
});

const groupShape = z.looseObject({
  name: z.string(),
  description: text,
  groupMembers: list(z.array(memberShape)).nullish(),
});

const conditionShape = z.looseObject({
  conditionsMap: mapping(z.looseObject({ operator: text, value: z.string() })).nullish(),
});

const assertionShape = z.looseObject({
  role: z.string(),
  action: z.string(),
  resource: z.string(),
  effect: z.enum(['ALLOW', 'DENY']).nullish(),
  caseSensitive: flag,
  conditions: z.looseObject({ conditionsList: list(z.array(conditionShape)).nullish() }).nullish(),
});

const policyShape = z.looseObject({
  name: z.string(),
  description: text,
  version: text,
  active: flag,
  caseSensitive: flag,
  assertions: list(z.array(assertionShape)).nullish(),
});

const serviceShape = z.looseObject({
  name: z.string(),
  description: text,
  providerEndpoint: text,
  hosts: list(z.array(z.string())).nullish(),
  publicKeys: list(z.array(z.looseObject({ id: z.string(), key: z.string() }))).nullish(),
});

export const athenzDomainShape = z.looseObject({
  name: z.string(),
  description: text,
  enabled: flag,
  auditEnabled: flag,
  account: text,
  tokenExpiryMins: count,
  serviceCertExpiryMins: count,
  roleCertExpiryMins: count,
  roles: list(z.array(roleShape)).nullish(),
  groups: list(z.array(groupShape)).nullish(),
  policies: z.looseObject({ contents: z.looseObject({ policies: list(z.array(policyShape)).nullish() }) }).nullish(),
  services: list(z.array(serviceShape)).nullish(),
});

export type AthenzDomain = z.output<typeof athenzDomainShape>;
export type AthenzMember = z.output<typeof memberShape>;
export type AthenzRole = z.output<typeof roleShape>;
export type AthenzGroup = z.output<typeof groupShape>;
export type AthenzPolicy = z.output<typeof policyShape>;
export type AthenzAssertion = z.output<typeof assertionShape>;
export type AthenzService = z.output<typeof serviceShape>;

export interface AthenzJws {
  readonly payload: string;
  readonly protected: string;
  readonly signature: string;
}

export const athenzJwsShape = z.looseObject({ payload: z.string(), protected: z.string(), signature: z.string() });
