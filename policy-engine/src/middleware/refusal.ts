import { debuglog } from 'node:util';
import { type Decision, statusRemedy } from '../policy/index.ts';
import type { RequiredAccess } from './request-rule.ts';

/** Reason of a refusal, for the developer of the service: the caller is told less. It holds no credential. */
export interface Refusal {
  readonly method: string;
  /** Path as received, without the query. */
  readonly path: string;
  /** The pattern of the route, where it is known. */
  readonly route?: string;
  /** Requested access, once the rule has determined it. */
  readonly asked?: RequiredAccess;
  readonly status: number;
  /** The answer of the engine, when it was asked. */
  readonly decision?: Decision;
  /** Advice for the operator or developer. */
  readonly hint: string;
  /** All of it in one line, for a log. */
  readonly text: string;
}

/** Is told of every request that is refused; what it throws goes nowhere, as it has no say in the answer. */
export type OnRefusal = (refusal: Refusal) => void;

const debug = debuglog('signet');

/** Parts of a refusal before its text is made. */
interface RefusalParts extends Omit<Refusal, 'hint' | 'text' | 'path'> {
  readonly target: string;
  readonly message: string;
  /** Advice; default: the one for the status of the decision, or the message. */
  readonly hint?: string;
}

/** Tells the listener, and the debug log of Node (`NODE_DEBUG=signet`). */
export function reportRefusal(onRefusal: OnRefusal | undefined, parts: RefusalParts): void {
  if (onRefusal === undefined && !debug.enabled) return;
  const { target, message, hint: own, ...said } = parts;
  const [path = ''] = target.split('?', 1);
  const hint = own ?? (said.decision === undefined ? message : statusRemedy(said.decision.status));
  const text = inOneLine({ ...said, path, hint }, message);
  debug('%s', text);
  try {
    onRefusal?.({ ...said, path, hint, text });
  } catch {
    // An exception in the callback must not change the answer.
  }
}

/** Refusal in one line, with names of callers in quotes, so that none of them makes a line of its own or commands a terminal. */
function inOneLine(refusal: Omit<Refusal, 'text'>, message: string): string {
  const { method, path, asked, status, decision, hint } = refusal;
  const question = asked === undefined ? '' : ` (${quoted(asked.action)} on ${quoted(asked.resource)})`;
  return `${quoted(`${method} ${path}`)}${question}: ${status} ${decision?.status ?? message}; ${hint}`;
}

/** Characters that JSON may hold unescaped, and terminals and log readers take for line ends, commands, or a change of writing direction. */
const deceiving = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function quoted(text: unknown): string {
  return String(JSON.stringify(text)).replace(deceiving, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
