import { stripTypeScriptTypes } from 'node:module';
import {
  type AnyNode,
  type BinaryExpression,
  type CallExpression,
  type Comment,
  type ConditionalExpression,
  type Expression,
  parse,
  type SpreadElement,
} from 'acorn';
import { full } from 'acorn-walk';

/** Mutation of a source text: the characters from `start` to `end` become `replacement`. */
export interface Mutation {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** Kind of the mutation. */
  readonly kind: MutationKind;
}

export type MutationKind =
  | 'dropped guard'
  | 'constant condition'
  | 'flipped comparison'
  | 'moved boundary'
  | 'swapped && and ||'
  | 'dropped negation'
  | 'dropped operand'
  | 'swapped some and every'
  | 'flipped answer';

const comparisons: Readonly<Record<string, readonly [kind: MutationKind, becomes: string][]>> = {
  '===': [['flipped comparison', '!==']],
  '!==': [['flipped comparison', '===']],
  '<': [
    ['flipped comparison', '>='],
    ['moved boundary', '<='],
  ],
  '<=': [
    ['flipped comparison', '>'],
    ['moved boundary', '<'],
  ],
  '>': [
    ['flipped comparison', '<='],
    ['moved boundary', '>='],
  ],
  '>=': [
    ['flipped comparison', '<'],
    ['moved boundary', '>'],
  ],
};

/** `a < b ? -1 : 1`: the order of a list is not a rule. */
function isOrder({ consequent, alternate }: ConditionalExpression): boolean {
  return consequent.type === 'UnaryExpression' && consequent.operator === '-' && alternate.type !== 'Identifier';
}

/** `error instanceof Error ? error.message : …`: what a message says is not a rule. */
function isErrorCheck(test: Expression): boolean {
  return test.type === 'BinaryExpression' && test.right.type === 'Identifier' && test.right.name === 'Error';
}

/** The condition of `...(x !== undefined && { x })`: whether what is absent is left out or written as `undefined` is not a rule. */
function conditionOfOptional({ argument }: SpreadElement, bare: string): Expression | undefined {
  if (argument.type !== 'LogicalExpression' || argument.operator !== '&&') return undefined;
  const { left, right } = argument;
  if (left.type !== 'BinaryExpression' || left.operator !== '!==' || right.type !== 'ObjectExpression')
    return undefined;
  const [property, ...others] = right.properties;
  if (property?.type !== 'Property' || others.length > 0) return undefined;
  const text = ({ start, end }: AnyNode): string => bare.slice(start, end);
  return text(left.right) === 'undefined' && text(left.left) === text(property.value) ? left : undefined;
}

/** `if (…) yield;`: when work lets others run in between is not a rule. */
function isPause(consequent: AnyNode): boolean {
  return (
    consequent.type === 'ExpressionStatement' &&
    consequent.expression.type === 'YieldExpression' &&
    !consequent.expression.argument
  );
}

/** Functions that are called for what they refuse: the call is the guard. */
const guardName =
  /^(require|check|assert|refuse|reject|verify|ensure|forbid|guard|demand|authorize|must|deny)([A-Z]|$)/;

/**
 * Every mutation of a TypeScript source that a security rule should notice, by position. Types are blanked out in place
 * first, so that positions are those of the text given.
 */
export function findMutations(code: string): Mutation[] {
  const plain = stripTypeScriptTypes(code, { mode: 'strip' });
  if (plain.length !== code.length) throw new Error('the types could not be blanked out in place');
  const comments: Comment[] = [];
  const program = parse(plain, { ecmaVersion: 'latest', sourceType: 'module', onComment: comments });
  const bare = comments.reduce((text, { start, end }) => blank(text, start, end), plain);
  const found: Mutation[] = [];
  const free: Expression[] = [];
  const conditions: Expression[] = [];
  full(program, (node) => {
    const known = node as AnyNode;
    if (known.type === 'IfStatement' && isPause(known.consequent)) free.push(known.test);
    if (known.type === 'ConditionalExpression' && isOrder(known)) free.push(known);
    const condition = known.type === 'SpreadElement' ? conditionOfOptional(known, bare) : undefined;
    if (condition !== undefined) conditions.push(condition);
    found.push(...mutationsOf(known, bare));
  });
  const rules = found
    .filter(({ start, end }) => !free.some((part) => part.start <= start && end <= part.end))
    .filter(({ start, end }) => !conditions.some((condition) => condition.start === start && condition.end === end));
  return rules.sort((a, b) => a.start - b.start || a.end - b.end || (a.replacement < b.replacement ? -1 : 1));
}

/** The text with one mutation in it. */
export function applyMutation(code: string, { start, end, replacement }: Mutation): string {
  return code.slice(0, start) + replacement + code.slice(end);
}

function mutationsOf(node: AnyNode, bare: string): Mutation[] {
  switch (node.type) {
    case 'IfStatement':
      return endsHere(node.consequent) ? [never(node.test, 'dropped guard')] : bothWays(node.test);
    case 'ConditionalExpression':
      return isErrorCheck(node.test) ? [] : bothWays(node.test);
    case 'ExpressionStatement':
      return guardCallName(node.expression).match(guardName) === null
        ? []
        : [{ start: node.start, end: node.end, replacement: ';', kind: 'dropped guard' }];
    case 'BinaryExpression':
      return comparisonsOf(node, bare);
    case 'LogicalExpression':
      return node.operator === '??' ? [] : logicOf(node.left, node.operator, node.right, bare);
    case 'UnaryExpression':
      return node.operator === '!' ? [change(node.start, node.start + 1, '', 'dropped negation')] : [];
    case 'CallExpression':
      return quantifiersOf(node);
    case 'ReturnStatement':
      return answersOf(node.argument);
    case 'ArrowFunctionExpression':
      return answersOf(node.body);
    default:
      return [];
  }
}

function blank(text: string, start: number, end: number): string {
  return text.slice(0, start) + ' '.repeat(end - start) + text.slice(end);
}

function change(start: number, end: number, replacement: string, kind: MutationKind): Mutation {
  return { start, end, replacement, kind };
}

/** A condition that never holds: a refusal that is gone. */
function never({ start, end }: Expression, kind: MutationKind): Mutation {
  return change(start, end, 'false', kind);
}

function bothWays(test: Expression): Mutation[] {
  return [never(test, 'constant condition'), change(test.start, test.end, 'true', 'constant condition')];
}

/** The branch leaves: it throws, returns or goes on with the next turn. */
function endsHere(node: AnyNode): boolean {
  if (node.type === 'BlockStatement') return node.body.some(endsHere);
  return ['ThrowStatement', 'ReturnStatement', 'ContinueStatement', 'BreakStatement'].includes(node.type);
}

function guardCallName(node: Expression): string {
  const call = node.type === 'AwaitExpression' ? node.argument : node;
  if (call.type !== 'CallExpression') return '';
  const { callee } = call;
  if (callee.type === 'Identifier') return callee.name;
  const property = callee.type === 'MemberExpression' ? callee.property : undefined;
  return property?.type === 'Identifier' || property?.type === 'PrivateIdentifier' ? property.name : '';
}

/** An answer that is written out, turned round. */
function answersOf(node: AnyNode | null | undefined): Mutation[] {
  if (node?.type !== 'Literal' || typeof node.value !== 'boolean') return [];
  return [change(node.start, node.end, String(!node.value), 'flipped answer')];
}

/** Where an operator stands between two operands; parentheses may surround it. */
function operatorAt(bare: string, left: AnyNode, right: AnyNode, operator: string): number {
  return left.end + bare.slice(left.end, right.start).lastIndexOf(operator);
}

function comparisonsOf({ left, operator, right }: BinaryExpression, bare: string): Mutation[] {
  const at = operatorAt(bare, left, right, operator);
  return (comparisons[operator] ?? []).map(([kind, becomes]) => change(at, at + operator.length, becomes, kind));
}

function logicOf(left: Expression, operator: '&&' | '||', right: Expression, bare: string): Mutation[] {
  const at = operatorAt(bare, left, right, operator);
  const neutral = operator === '&&' ? 'true' : 'false';
  return [
    change(at, at + 2, operator === '&&' ? '||' : '&&', 'swapped && and ||'),
    change(left.start, left.end, neutral, 'dropped operand'),
    change(right.start, right.end, neutral, 'dropped operand'),
  ];
}

function quantifiersOf({ callee }: CallExpression): Mutation[] {
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return [];
  const { name, start, end } = callee.property;
  if (name !== 'some' && name !== 'every') return [];
  return [change(start, end, name === 'some' ? 'every' : 'some', 'swapped some and every')];
}
