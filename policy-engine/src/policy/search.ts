import { foldAscii } from '../names/index.ts';
import type { CompiledAssertion } from './assertion.ts';
import { type DecisionContext, type FoldedContext, foldContext } from './conditions.ts';
import { type Pattern, patternMatches } from './pattern.ts';
import { Work } from './work.ts';

/** What is asked. */
export interface Question {
  readonly action: string;
  /** In a search, with its domain in front as policies write it. */
  readonly resource: string;
  readonly context: DecisionContext | undefined;
}

/**
 * One search for the assertion that decides. Of all that match, that one is the one with the smallest precedence (DENY before
 * ALLOW, plain roles before pattern roles), then of the role that the caller names first, then with the smallest rank. What it looks
 * at is spent of its work. Texts are folded when that can make a difference: most are as they would be.
 */
export class Search extends Work {
  // Declared only, as in `Work`: a field that a class defines costs more than all that a small policy needs.
  declare readonly roles: readonly string[];
  /** Action and resource as they were asked for, the resource with its domain as policies write it. */
  declare readonly givenAction: string;
  declare readonly given: string;
  /** Where the name of the resource begins. */
  declare private readonly nameStart: number;
  declare private foldedAction: string | undefined;
  declare private foldedText: string | undefined;
  declare private foldedName: string | undefined;
  declare private readonly givenContext: DecisionContext | undefined;
  declare private foldedContext: FoldedContext | undefined;
  /** The place of the one role that is searched for; -1 while all are. */
  declare place: number;
  /** What was found, and the place of the role that it matched for. */
  declare best: CompiledAssertion | undefined;
  declare private bestPlace: number;

  constructor(roles: readonly string[], { action, resource, context }: Question, nameStart: number) {
    super();
    this.roles = roles;
    this.givenAction = action;
    this.given = resource;
    this.nameStart = nameStart;
    this.foldedAction = undefined;
    this.foldedText = undefined;
    this.foldedName = undefined;
    this.givenContext = context;
    this.foldedContext = undefined;
    this.place = -1;
    this.best = undefined;
    this.bestPlace = 0;
  }

  /** Whether the pattern, which is folded, matches the action. */
  matchesAction(pattern: Pattern): boolean {
    if (pattern.kind !== 'exact') return patternMatches(pattern, this.action, this);
    return (
      pattern.text === this.givenAction || (isAsLong(pattern.text, this.givenAction) && pattern.text === this.action)
    );
  }

  /** Whether the pattern, which is folded and has a wildcard, matches the name of the resource. */
  matchesResource(pattern: Pattern): boolean {
    return patternMatches(pattern, this.name, this);
  }

  /** Whether this is the resource, folded and with its domain in front. */
  isResource(text: string): boolean {
    return text === this.given || (isAsLong(text, this.given) && text === this.text);
  }

  /** The action, folded. */
  get action(): string {
    this.foldedAction ??= foldAscii(this.givenAction);
    return this.foldedAction;
  }

  /** The resource with its domain, folded. */
  get text(): string {
    this.foldedText ??= foldAscii(this.given);
    return this.foldedText;
  }

  /** The name of the resource, folded. */
  get name(): string {
    this.foldedName ??= foldAscii(this.given.slice(this.nameStart));
    return this.foldedName;
  }

  /** As conditions compare it; folded when the first one asks. */
  get context(): FoldedContext | undefined {
    this.foldedContext ??= foldContext(this.givenContext);
    return this.foldedContext;
  }

  /** Whether an assertion of this precedence, for the role at this place or a later one, could still take the place of what was found. */
  isOpen(precedence: number, place: number): boolean {
    const best = this.best;
    if (best === undefined || precedence < best.precedence) return true;
    return precedence === best.precedence && place <= this.bestPlace;
  }

  /** Whether the assertion, if it matches for the role at this place, comes before what was found. */
  isBetter(assertion: CompiledAssertion, place: number): boolean {
    const best = this.best;
    if (best === undefined) return true;
    return (assertion.precedence - best.precedence || place - this.bestPlace || assertion.rank - best.rank) < 0;
  }

  /** Takes a matching assertion if it comes before what was found; `place` is that of the role that it matched for. */
  offer(assertion: CompiledAssertion, place: number): void {
    if (!this.isBetter(assertion, place)) return;
    this.best = assertion;
    this.bestPlace = place;
  }
}

/** Only then can folding one make it the other. */
function isAsLong(one: string, other: string): boolean {
  return one.length === other.length;
}
