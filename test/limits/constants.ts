import { globSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AnyNode, type Expression, parse } from 'acorn';

export const top = fileURLToPath(new URL('../..', import.meta.url));

/** A constant of a source file that bounds something. */
export interface LimitConstant {
  /** Relative to the top. */
  readonly file: string;
  readonly name: string;
  readonly value: number;
}

/** Names of constants that bound something: `max…` and `min…`, and other words for the same. */
const boundName =
  /^(?:max|min|most|least|longest|shortest|widest|deepest|largest|smallest|latest|earliest|highest|lowest|limit|ceiling|failuresUntil|givenUp|waiting)(?=[A-Z]|$)/;

/** Every constant at the top of a source text whose name says that it bounds something, with its number. */
export function boundsIn(code: string): Omit<LimitConstant, 'file'>[] {
  const program = parse(stripTypeScriptTypes(code), { ecmaVersion: 'latest', sourceType: 'module' });
  const known = new Map<string, number>();
  for (const statement of program.body) {
    const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    if (declaration?.type !== 'VariableDeclaration') continue;
    for (const { id, init } of declaration.declarations) {
      const value = id.type === 'Identifier' && init != null ? numberOf(init, known) : undefined;
      if (id.type === 'Identifier' && value !== undefined) known.set(id.name, value);
    }
  }
  return [...known].flatMap(([name, value]) => (boundName.test(name) ? [{ name, value }] : []));
}

/** The bounds of all packages. */
export function limitConstants(): LimitConstant[] {
  return globSync('{client,policy-engine,server,updater,example-provider}/src/**/*.ts', { cwd: top })
    .map((file) => file.replaceAll('\\', '/'))
    .sort()
    .flatMap((file) => boundsIn(readFileSync(join(top, file), 'utf8')).map((found) => ({ file, ...found })));
}

const operators: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '**': (left, right) => left ** right,
  '<<': (left, right) => left << right,
};

/** The number that an expression of numbers and of constants before it stands for. */
function numberOf(node: Expression | AnyNode, known: ReadonlyMap<string, number>): number | undefined {
  if (node.type === 'Literal') return typeof node.value === 'number' ? node.value : undefined;
  if (node.type === 'Identifier') return known.get(node.name);
  if (node.type !== 'BinaryExpression') return undefined;
  const [left, right] = [numberOf(node.left, known), numberOf(node.right, known)];
  return left === undefined || right === undefined ? undefined : operators[node.operator]?.(left, right);
}
