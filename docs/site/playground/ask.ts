import {
  type DomainName,
  foldAscii,
  InvalidNameError,
  parseActionName,
  parsePrincipalName,
} from '@signet/policy-engine/names';
import { conditionKeys, type DecisionContext } from '@signet/policy-engine/policy';
import { type AccessExplanation, explainAccess } from '@signet/server/access/explain-access';
import { InvalidRequestError, UnknownDomainError } from '@signet/server/errors';
import type { Snapshot } from '@signet/server/snapshot/snapshot';
import type { Question } from './state.ts';

/** What is wrong with a question, and in which of its fields. */
export interface QuestionProblem {
  readonly field: keyof Question;
  readonly message: string;
}

/** The answer to a question, which names `action` and `resource` in full. */
export interface Answered {
  readonly kind: 'ok';
  readonly explained: AccessExplanation;
  readonly action: string;
  readonly resource: string;
  /** Of the resource. */
  readonly domain: string;
}

type Asked = Answered | { readonly kind: 'bad'; readonly problems: readonly QuestionProblem[] };

/** Puts the question to a snapshot at `now` (milliseconds). A resource without a domain is one of `domain`. */
export function ask(snapshot: Snapshot, domain: DomainName, question: Question, now: number): Asked {
  const problems: QuestionProblem[] = [];
  const read = <Value>(field: keyof Question, parse: () => Value): Value | undefined => {
    try {
      return parse();
    } catch (error) {
      const isExpected = [InvalidNameError, InvalidRequestError, UnknownDomainError].some(
        (kind) => error instanceof kind,
      );
      if (!isExpected || !(error instanceof Error)) throw error;
      problems.push({ field, message: error.message });
      return undefined;
    }
  };
  const principal = read('principal', () => parsePrincipalName(question.principal.trim()));
  const action = read('action', () => parseActionName(question.action.trim()));
  const context = read('context', () => parseContext(question.context));
  const resource = read('resource', () => qualified(question.resource.trim(), domain));
  if (principal === undefined || action === undefined || resource === undefined || context === undefined) {
    return { kind: 'bad', problems };
  }
  const explained = read('resource', () => explainAccess(snapshot, { principal, action, resource, context }, now));
  if (explained === undefined) return { kind: 'bad', problems };
  return { kind: 'ok', explained, action, resource, domain: resource.slice(0, resource.indexOf(':')) };
}

function qualified(resource: string, domain: DomainName): string {
  if (resource === '') throw new InvalidRequestError('must not be empty');
  return foldAscii(resource.includes(':') ? resource : `${domain}:${resource}`);
}

function parseContext(text: string): DecisionContext {
  const pairs = text.split(/[\s,]+/).filter((pair) => pair !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name = '', value] = /^([^=]+)=(.+)$/.exec(pair) ?? [];
      const key = conditionKeys.find((one) => one === name.toLowerCase());
      if (key === undefined || value === undefined) {
        throw new InvalidRequestError(`must be key=value with blanks between them; keys: ${conditionKeys.join(', ')}`);
      }
      return [key, value];
    }),
  );
}
