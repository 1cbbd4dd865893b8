import pg from 'pg';

/** Whole numbers of PostgreSQL that JavaScript cannot hold are a fault, never another number. */
function wholeNumber(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number)) return number;
  throw new RangeError(`the database holds the number ${text}, which is too large`);
}

/** Of the type `int8`, and of `numeric`, which sums of those are. */
const int8 = 20;
const numeric = 1700;

/** How values are read: as the tables of `database-schema.ts` say. For our connections only. */
export const numbersAsNumbers: pg.CustomTypesConfig = {
  getTypeParser: (id, format) => {
    const type: number = id;
    return type === int8 || type === numeric ? wholeNumber : pg.types.getTypeParser(id, format);
  },
};
