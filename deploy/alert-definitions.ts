import { components } from '#contracts/vocabulary';

/**
 * The alert rules, from which `npm run generate` makes `deploy/monitoring/alerts.yml`. A condition
 * refers to a metric of `metric-definitions.ts` as `{aag.calls}`. Each condition groups by
 * `namespace`, which tells installations that one Prometheus watches apart. Where the label is
 * absent, all series are one group.
 */
export interface AlertDefinition {
  readonly name: string;
  /** The condition in PromQL. */
  readonly when: string;
  /** How long the condition must hold, as Prometheus writes durations. */
  readonly lasting: string;
  /** `page`: calls fail or will fail soon. `ticket`: somebody should look at it during the day. */
  readonly severity: 'page' | 'ticket';
  readonly summary: string;
  /** What to look at first, in Markdown. */
  readonly firstSteps: string;
}

/**
 * A series for each component that an installation should have. All eight are part of every
 * installation of which any component reports; a process with several components reports each of
 * them. So the condition needs no history, in which an upgrade or a removal would look like a loss.
 */
const expectedComponents = components
  .map(
    (component) =>
      `label_replace(group by (namespace) ({aag.check.failing}), "component", "${component}", "", "")`,
  )
  .join('\n  or ');

export const alertDefinitions: readonly AlertDefinition[] = [
  {
    name: 'GatewayAnswersWithErrors',
    when: 'sum by (namespace) (rate({http.server.request.duration}_count{http_response_status_code=~"5.."}[5m])) / sum by (namespace) (rate({http.server.request.duration}_count[5m])) > 0.05',
    lasting: '5m',
    severity: 'page',
    summary: 'More than 5 % of the requests to the gateway end with a 5xx status.',
    firstSteps:
      'Look at `action-gateway doctor` or `GET /v1/status` for the component that fails, then for lines with `level: error` in its log.',
  },
  {
    name: 'CallsAreNotServed',
    when: 'sum by (namespace) (rate({aag.calls}{outcome=~"unavailable|internal"}[5m])) / sum by (namespace) (rate({aag.calls}[5m])) > 0.05',
    lasting: '5m',
    severity: 'page',
    summary: 'The installation itself makes more than 5 % of the calls fail.',
    firstSteps:
      'Look at `GET /v1/status`: it names the component, the database or the bus that does not answer. The `component` of the answers with 503 names it too.',
  },
  {
    name: 'UpstreamsDoNotAnswer',
    when: 'sum by (namespace) ({aag.breakers.open}) > 0',
    lasting: '15m',
    severity: 'ticket',
    summary: 'Calls to at least one upstream are paused because it does not answer.',
    firstSteps:
      'The log of the executor names the host. Check whether it answers from there, and through the proxy of `EGRESS_PROXY` if one is set; calls resume by themselves.',
  },
  {
    name: 'SlotsNearlyUsed',
    when: 'sum by (namespace, pool) ({aag.slots.used}) / sum by (namespace, pool) ({aag.slots.limit}) > 0.85',
    lasting: '5m',
    severity: 'page',
    summary: 'More than 85 % of the places of {{ $labels.pool }} are taken; start more replicas.',
    firstSteps:
      'Start more replicas of the executor, or raise `EXECUTOR_IN_FLIGHT_MAX` where CPU and memory are left. *Last calls* on the home page shows who makes the calls.',
  },
  {
    name: 'ApprovalsWaitLong',
    when: 'max by (namespace) ({aag.approvals.oldest_age}) > 4 * 3600',
    lasting: '5m',
    severity: 'ticket',
    summary: 'An approval has waited for more than four hours.',
    firstSteps:
      'Look at `action-gateway approvals list` for who is asked, and whether they get notifications; approvals expire by themselves.',
  },
  {
    name: 'OutboxIsNotPublished',
    when: 'max by (namespace, component) ({aag.outbox.oldest_age}) > 60',
    lasting: '2m',
    severity: 'page',
    summary: 'Events of {{ $labels.component }} have waited for more than a minute.',
    firstSteps:
      'The component cannot publish to NATS: look at the fill of the streams in `GET /v1/status`, and at the disk of NATS. Nothing is lost meanwhile.',
  },
  {
    name: 'StreamFills',
    when: 'max by (namespace, stream) ({aag.stream.fill}) > 0.5',
    lasting: '1m',
    severity: 'ticket',
    summary: 'The stream {{ $labels.stream }} is more than half full: its reader is behind.',
    firstSteps:
      'Find the consumer that is behind under `consumers` in `GET /v1/status`, and see whether that component runs and its database answers.',
  },
  {
    name: 'StreamNearlyFull',
    when: 'max by (namespace, stream) ({aag.stream.fill}) > 0.8',
    lasting: '1m',
    severity: 'page',
    summary: 'The stream {{ $labels.stream }} is more than 80 % full.',
    firstSteps:
      'As for `StreamFills`, now: calls stop when the stream of audit records is full. `AUDIT_BYTES_MAX` and `EVENTS_BYTES_MAX` with `migrate` give it more room.',
  },
  {
    name: 'NoMetrics',
    when: '(group by (namespace) (present_over_time({aag.check.failing}[1d])) unless on (namespace) {aag.check.failing}) or on () absent({aag.check.failing})',
    lasting: '5m',
    severity: 'page',
    summary: 'No component of the installation reports metrics.',
    firstSteps:
      'See whether the installation runs and has `HEALTH_PORT`, then look at the scrape configuration. While other installations report, this alert ends a day after the last metrics; silence it for an installation that you removed.',
  },
  {
    name: 'ComponentHasNoReplica',
    when: `(\n  ${expectedComponents}\n) unless on (namespace, component) {aag.check.failing}`,
    lasting: '5m',
    severity: 'page',
    summary: 'No replica of {{ $labels.component }} reports metrics, while other components do.',
    firstSteps:
      'See whether replicas of the component run and what their log says last, then whether Prometheus scrapes them. Silence the alert for a component that you scaled to 0.',
  },
  {
    name: 'EventsAreNotRead',
    when: 'max by (namespace, consumer) ({aag.consumer.unread_time}) > 60',
    lasting: '1m',
    severity: 'page',
    summary: '{{ $labels.consumer }} has read no event for more than a minute, and some wait.',
    firstSteps:
      'See whether the component runs, is ready and reaches its database; it reads on from where it stopped.',
  },
  {
    name: 'WebhooksFail',
    when: 'sum by (namespace) (rate({aag.webhook.attempts}{outcome!="delivered"}[15m])) / sum by (namespace) (rate({aag.webhook.attempts}[15m])) > 0.5',
    lasting: '15m',
    severity: 'ticket',
    summary: 'More than half of the attempts to deliver webhooks fail.',
    firstSteps:
      'Look at `action-gateway webhooks list` for the address and its last error, and tell its owner. A webhook that keeps failing is switched off.',
  },
  {
    name: 'WebhooksAreLate',
    when: 'max by (namespace) ({aag.webhook.lag}) > 300',
    lasting: '5m',
    severity: 'ticket',
    summary: 'A delivery to a webhook is more than five minutes late.',
    firstSteps:
      'Start another replica of the notifier, unless one slow address holds its deliveries back (`action-gateway webhooks list`).',
  },
  {
    name: 'DatabasePoolIsUsedUp',
    when: 'max by (namespace, db_client_connection_pool_name) ({db.client.connection.pending_requests}) > 0',
    lasting: '5m',
    severity: 'ticket',
    summary:
      'Statements of {{ $labels.db_client_connection_pool_name }} wait for a connection; raise DATABASE_CONNECTIONS_MAX.',
    firstSteps:
      'Raise `DATABASE_CONNECTIONS_MAX` while the database has connections left; otherwise find slow statements in Postgres (`pg_stat_activity`).',
  },
  {
    name: 'ComponentIsNotReady',
    when: 'max by (namespace, component, check) ({aag.check.failing}) > 0',
    lasting: '1m',
    severity: 'page',
    summary: 'A replica of {{ $labels.component }} is not ready: {{ $labels.check }}.',
    firstSteps:
      'Ask the replica for `/health/ready` at its `HEALTH_PORT`: the answer says what fails. It takes no work meanwhile.',
  },
  {
    name: 'EventLoopIsBlocked',
    when: 'max by (namespace, instance) ({nodejs.eventloop.delay}{quantile="0.99"}) > 0.5',
    lasting: '5m',
    severity: 'ticket',
    summary: 'The process {{ $labels.instance }} answers late because it computes too much.',
    firstSteps:
      'Start another replica. If one caller causes it, *Activity* shows their large calls; lower their share or archive the agent.',
  },
];
