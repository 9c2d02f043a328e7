export { createAuditShare } from './audit-share.ts';
export type { AuditShare } from './audit-share.ts';
export {
  callerLevelsOf as callerLevels,
  callerPathOf as callerPath,
  overShare,
} from './callers.ts';
export type { CallerIds, CallerLevel, SharePercents } from './callers.ts';
export { findRefusal } from './room.ts';
export type { Level, Pool } from './room.ts';
export { Shares } from './shares.ts';
