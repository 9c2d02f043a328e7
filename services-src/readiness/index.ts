export {
  createAuditStreamCheck as auditStreamCheck,
  createBusCheck as busCheck,
  createClockComparison as clockComparison,
  createConsumerCheck as consumerCheck,
  createDatabaseChecks as databaseChecks,
} from './checks.ts';
export { watchReadiness } from './readiness.ts';
export type { Check, Readiness } from './readiness.ts';
