/**
 * The settings of each session of a component: names are looked up in its schema; statements end
 * after ten seconds, so that a stuck lock becomes an error and not a hang. Times in milliseconds.
 * Through a pooler they cannot be sent with a connection, so `migrate` stores them with the role.
 */
export function sessionSettingsOf(schema: string) {
  return {
    search_path: schema,
    statement_timeout: 10_000,
    idle_in_transaction_session_timeout: 15_000,
  } as const;
}

/** The statements that store the settings of a component's sessions with its role. */
export function storeSettingsStatements({
  role,
  database,
  schema,
}: {
  /** The names as they stand in SQL, quoted where that is needed. */
  readonly role: string;
  readonly database: string;
  readonly schema: string;
}): string[] {
  return Object.entries(sessionSettingsOf(schema)).map(
    ([name, value]) => `alter role ${role} in database ${database} set ${name} = '${value}'`,
  );
}
