type Defined<Values> = { [Key in keyof Values as undefined extends Values[Key] ? never : Key]: Values[Key] } & {
  [Key in keyof Values as undefined extends Values[Key] ? Key : never]?: Exclude<Values[Key], undefined>;
};

/** Object without the members that are undefined. */
export function definedOnly<Values extends object>(values: Values): Defined<Values> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<Values>;
}
