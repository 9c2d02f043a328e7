export { openDatabase, PostgresError } from './open.ts';
export type { Database, Sql, Transaction } from './open.ts';
export { connectOwner, databaseUrlOf } from './address.ts';
export { databaseSettings, openOwnDatabase } from './open-own.ts';
export { storeSettingsStatements } from './session.ts';
export { deleteInParts } from './delete-in-parts.ts';
export { migrate } from './migrate.ts';
export {
  cursorOf,
  pageOf,
  parseCursor,
  parseSingleCursor,
  positionSchemas as positions,
  textValue,
} from './paging.ts';
export type { Page, PageRequest } from './paging.ts';
