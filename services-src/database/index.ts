export { PostgresError } from './driver.ts';
export { openDatabase } from './open.ts';
export type { Database, Sql, Transaction } from './open.ts';
export { migrate } from './migrate.ts';
export {
  cursorOf,
  pageOf,
  parseCursor,
  parseSingleCursor,
  positions,
  textValue,
} from './paging.ts';
export type { Page, PageRequest } from './paging.ts';
