import type { Equivalent } from './mutant.ts';

/** Mutations that no test can notice, each with its reason. `npm run mutants` says which entries match no mutation any more. */
export const equivalent: readonly Equivalent[] = [
  {
    file: 'policy-engine/src/policy/pattern.ts',
    from: '} else if (afterStar >= 0) {',
    to: '} else if (true) {',
    reason: 'without a star before it the search goes on to the end of the text and fails there, only later',
  },
  {
    file: 'policy-engine/src/policy/role-index.ts',
    from: 'if (pattern !== undefined) index.add(pattern.kind, pattern.text, yield* makeRules(group));',
    to: 'if (true) index.add(pattern.kind, pattern.text, yield* makeRules(group));',
    reason: 'only assertions with a pattern come here; the condition tells the compiler so',
  },
  {
    file: 'policy-engine/src/policy/role-index.ts',
    from: 'for (let at = 0; at < roles.length && search.isOpen(precedence, at); at += 1) {',
    to: 'for (let at = 0; at <= roles.length && search.isOpen(precedence, at); at += 1) {',
    reason: 'past the last role there is none, and no rule is found for it',
  },
  {
    file: 'policy-engine/src/policy/index-rules.ts',
    from: 'return actions.size > roles.size',
    to: 'return false',
    reason: 'which of two indexes is built decides how fast the answer is, not what it is',
  },
  {
    file: 'policy-engine/src/policy/index-rules.ts',
    from: 'return actions.size > roles.size',
    to: 'return true',
    reason: 'which of two indexes is built decides how fast the answer is, not what it is',
  },
  {
    file: 'server/src/roles/granted-roles.ts',
    from: 'return granted.size < 2 ? [...granted] : [...granted].sort((a, b) => (a.name < b.name ? -1 : 1));',
    to: 'return false ? [...granted] : [...granted].sort((a, b) => (a.name < b.name ? -1 : 1));',
    reason: 'one role alone is in order already; not sorting it saves time only',
  },
  {
    file: 'server/src/http/authentication.ts',
    from: 'const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;',
    to: 'const certificate = true ? socket.getPeerX509Certificate() : undefined;',
    reason: 'the server listens with TLS alone, so that every socket is one of TLS',
  },
  {
    file: 'server/src/instances/refresh-service.ts',
    from: "if (row?.kind !== 'instance' || row.provider === undefined || row.instanceId === undefined) return undefined;",
    to: "if (row?.kind !== 'instance' || row.provider === undefined && row.instanceId === undefined) return undefined;",
    reason: 'the record of a certificate of an instance has both; the conditions tell the compiler so',
  },
  {
    file: 'server/src/instances/refresh-service.ts',
    from: "if (row?.kind !== 'instance' || row.provider === undefined || row.instanceId === undefined) return undefined;",
    to: "if (row?.kind !== 'instance' || false || row.instanceId === undefined) return undefined;",
    reason: 'the record of a certificate of an instance has both; the conditions tell the compiler so',
  },
  {
    file: 'server/src/instances/refresh-service.ts',
    from: "if (row?.kind !== 'instance' || row.provider === undefined || row.instanceId === undefined) return undefined;",
    to: "if (row?.kind !== 'instance' || row.provider === undefined || false) return undefined;",
    reason: 'the record of a certificate of an instance has both; the conditions tell the compiler so',
  },
  {
    file: 'server/src/principal.ts',
    from: 'if (parts === undefined) return 0;',
    to: 'if (false) return 0;',
    reason: 'names of principals that were parsed have both parts; the condition tells the compiler so',
  },
  {
    file: 'server/src/certificates/ssh/ssh-names.ts',
    from: `const principal = colon < 0 ? login : \`\${domain}:\${login}\`;`,
    to: `const principal = colon <= 0 ? login : \`\${domain}:\${login}\`;`,
    reason: 'a text that begins with a colon was refused before, as its domain is empty',
  },
  {
    file: 'server/src/instances/attestation/circuit-breaker.ts',
    from: 'return failures < threshold || left <= 0 || left > pauseMs ? 0 : left;',
    to: 'return failures < threshold || left < 0 || left > pauseMs ? 0 : left;',
    reason: 'with nothing left the answer is 0 either way',
  },
  {
    file: 'server/src/management/rights.ts',
    from: 'if (own === undefined || grantedRoles(snapshot, own, caller, now).length === 0) return false;',
    to: 'if (false) return false;',
    reason: 'who holds no role is no delegate either; not asking for each right saves time only',
  },
  {
    file: 'server/src/management/rights.ts',
    from: 'if (own === undefined || grantedRoles(snapshot, own, caller, now).length === 0) return false;',
    to: 'if (own === undefined || false) return false;',
    reason: 'who holds no role is no delegate either; not asking for each right saves time only',
  },
  {
    file: 'server/src/management/rights.ts',
    from: 'if (own === undefined) return false;',
    to: 'if (false) return false;',
    reason: 'a right is granted above only in a domain that is there; the condition tells the compiler so',
  },
  {
    file: 'server/src/management/rights.ts',
    from: 'if (own === undefined) return false;',
    to: 'if (own === undefined) return true;',
    reason: 'a right is granted above only in a domain that is there; the condition tells the compiler so',
  },
  {
    file: 'server/src/management/rights.ts',
    from: "rule.effect !== 'DENY' &&",
    to: 'true &&',
    reason: 'a DENY that matches has refused above, and one with conditions gives nothing by the next operand',
  },
  {
    file: 'server/src/management/safeguards.ts',
    from: 'const speaks = (role: string) => names.has(role) || [...names].some((full) => matchesPattern(role, full));',
    to: 'const speaks = (role: string) => false || [...names].some((full) => matchesPattern(role, full));',
    reason: 'a name without wildcards matches itself alone; looking it up first saves time only',
  },
  {
    file: 'server/src/management/safeguards.ts',
    from: 'return colon < 0 ? [] : [{ domain: member.name.slice(0, colon) as DomainName, group: member.name, path }];',
    to: 'return colon <= 0 ? [] : [{ domain: member.name.slice(0, colon) as DomainName, group: member.name, path }];',
    reason: 'a member was parsed, and none begins with a colon',
  },
  {
    file: 'policy-engine/src/bundle/succession.ts',
    from: 'if (floor.issued !== undefined && next.issued < floor.issued) {',
    to: 'if (true && next.issued < floor.issued) {',
    reason: 'no number is less than undefined; the condition tells the compiler so',
  },
  {
    file: 'policy-engine/src/token/thumbprint.ts',
    from: "if (typeof value !== 'object' || value === null || !('raw' in value)) return undefined;",
    to: "if (false || !('raw' in value)) return undefined;",
    reason: 'of a value that is no object `in` throws, which answers undefined too',
  },
  {
    file: 'policy-engine/src/keys/reloading-keys.ts',
    from: "if (typeof timer.unref === 'function') timer.unref();",
    to: 'if (true) timer.unref();',
    reason: 'what has this member has it as a function, in Node and in browsers',
  },
];
