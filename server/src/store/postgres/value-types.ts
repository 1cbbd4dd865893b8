import pg from 'pg';

/** Whole numbers of PostgreSQL that JavaScript cannot hold are a fault, never another number. */
function wholeNumber(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number)) return number;
  throw new RangeError(`the database holds the number ${text}, which is too large`);
}

/** Type `int8`, and `numeric`, the type of its sums. */
const int8 = 20;
const numeric = 1700;

/** Parsers of values by the tables of `database-schema.ts`. For this server's connections only. */
export const numbersAsNumbers: pg.CustomTypesConfig = {
  getTypeParser: (id, format) => {
    const type: number = id;
    return type === int8 || type === numeric ? wholeNumber : pg.types.getTypeParser(id, format);
  },
};
