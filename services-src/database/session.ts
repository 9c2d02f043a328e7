/**
 * The settings of each session of a component: names are looked up in its schema; statements end
 * after ten seconds, so that a stuck lock becomes an error and not a hang. Times in milliseconds. A
 * connection through a pooler cannot carry them, so `migrate` stores them on the database role.
 */
export function sessionSettingsOf(schema: string) {
  return {
    search_path: schema,
    statement_timeout: 10_000,
    idle_in_transaction_session_timeout: 15_000,
  } as const;
}

/** The SQL statements that store a component's session settings on its database role. */
export function storeSettingsStatements({
  role,
  database,
  schema,
}: {
  /** The names as in SQL, quoted if necessary. */
  readonly role: string;
  readonly database: string;
  readonly schema: string;
}): string[] {
  return Object.entries(sessionSettingsOf(schema)).map(
    ([name, value]) => `alter role ${role} in database ${database} set ${name} = '${value}'`,
  );
}
