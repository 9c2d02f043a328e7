/**
 * The alert rules, from which `npm run generate` makes `deploy/monitoring/alerts.yml`. A condition
 * refers to a metric of `metric-definitions.ts` as `{aag.calls}`.
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

export const alertDefinitions: readonly AlertDefinition[] = [
  {
    name: 'GatewayAnswersWithErrors',
    when: 'sum(rate({http.server.request.duration}_count{http_response_status_code=~"5.."}[5m])) / sum(rate({http.server.request.duration}_count[5m])) > 0.05',
    lasting: '5m',
    severity: 'page',
    summary: 'More than 5 % of the requests to the gateway end with a 5xx status.',
    firstSteps:
      'Look at `action-gateway doctor` or `GET /v1/status` for the component that fails, then for lines with `level: error` in its log.',
  },
  {
    name: 'CallsAreNotServed',
    when: 'sum(rate({aag.calls}{outcome=~"unavailable|internal"}[5m])) / sum(rate({aag.calls}[5m])) > 0.05',
    lasting: '5m',
    severity: 'page',
    summary: 'The installation itself makes more than 5 % of the calls fail.',
    firstSteps:
      'Look at `GET /v1/status`: it names the component, the database or the bus that does not answer. The `component` of the answers with 503 names it too.',
  },
  {
    name: 'UpstreamsDoNotAnswer',
    when: 'sum({aag.breakers.open}) > 0',
    lasting: '15m',
    severity: 'ticket',
    summary: 'Calls to at least one upstream are paused because it does not answer.',
    firstSteps:
      'The log of the executor names the host. Check whether it answers from there, and through the proxy of `EGRESS_PROXY` if one is set; calls resume by themselves.',
  },
  {
    name: 'SlotsNearlyUsed',
    when: 'sum by (pool) ({aag.slots.used}) / sum by (pool) ({aag.slots.limit}) > 0.85',
    lasting: '5m',
    severity: 'page',
    summary: 'More than 85 % of the places of {{ $labels.pool }} are taken; start more replicas.',
    firstSteps:
      'Start more replicas of the executor, or raise `EXECUTOR_IN_FLIGHT_MAX` where CPU and memory are left. *Last calls* on the home page shows who makes the calls.',
  },
  {
    name: 'ApprovalsWaitLong',
    when: 'max({aag.approvals.oldest_age}) > 4 * 3600',
    lasting: '5m',
    severity: 'ticket',
    summary: 'An approval has waited for more than four hours.',
    firstSteps:
      'Look at `action-gateway approvals list` for who is asked, and whether they get notifications; approvals expire by themselves.',
  },
  {
    name: 'OutboxIsNotPublished',
    when: 'max by (component) ({aag.outbox.oldest_age}) > 60',
    lasting: '2m',
    severity: 'page',
    summary: 'Events of {{ $labels.component }} have waited for more than a minute.',
    firstSteps:
      'The component cannot publish to NATS: look at the fill of the streams in `GET /v1/status`, and at the disk of NATS. Nothing is lost meanwhile.',
  },
  {
    name: 'StreamFills',
    when: 'max by (stream) ({aag.stream.fill}) > 0.5',
    lasting: '1m',
    severity: 'ticket',
    summary: 'The stream {{ $labels.stream }} is more than half full: its reader is behind.',
    firstSteps:
      'Find the consumer that is behind under `consumers` in `GET /v1/status`, and see whether that component runs and its database answers.',
  },
  {
    name: 'StreamNearlyFull',
    when: 'max by (stream) ({aag.stream.fill}) > 0.8',
    lasting: '1m',
    severity: 'page',
    summary: 'The stream {{ $labels.stream }} is more than 80 % full.',
    firstSteps:
      'As for `StreamFills`, now: calls stop when the stream of audit records is full. `AUDIT_BYTES_MAX` and `EVENTS_BYTES_MAX` with `migrate` give it more room.',
  },
  {
    name: 'NoMetrics',
    when: 'absent({aag.stream.fill})',
    lasting: '5m',
    severity: 'page',
    summary: 'No gateway reports the fill of the streams.',
    firstSteps:
      'Prometheus reaches no gateway: check that `HEALTH_PORT` is set there, and the scrape configuration.',
  },
  {
    name: 'EventsAreNotRead',
    when: 'max by (consumer) ({aag.consumer.unread_time}) > 60',
    lasting: '1m',
    severity: 'page',
    summary: '{{ $labels.consumer }} has read no event for more than a minute, and some wait.',
    firstSteps:
      'See whether the component runs, is ready and reaches its database; it reads on from where it stopped.',
  },
  {
    name: 'WebhooksFail',
    when: 'sum(rate({aag.webhook.attempts}{outcome!="delivered"}[15m])) / sum(rate({aag.webhook.attempts}[15m])) > 0.5',
    lasting: '15m',
    severity: 'ticket',
    summary: 'More than half of the attempts to deliver webhooks fail.',
    firstSteps:
      'Look at `action-gateway webhooks list` for the address and its last error, and tell its owner. A webhook that keeps failing is switched off.',
  },
  {
    name: 'WebhooksAreLate',
    when: 'max({aag.webhook.lag}) > 300',
    lasting: '5m',
    severity: 'ticket',
    summary: 'A delivery to a webhook is more than five minutes late.',
    firstSteps:
      'Start another replica of the notifier, unless one slow address holds its deliveries back (`action-gateway webhooks list`).',
  },
  {
    name: 'DatabasePoolIsUsedUp',
    when: 'max by (db_client_connection_pool_name) ({db.client.connection.pending_requests}) > 0',
    lasting: '5m',
    severity: 'ticket',
    summary:
      'Statements of {{ $labels.db_client_connection_pool_name }} wait for a connection; raise DATABASE_CONNECTIONS_MAX.',
    firstSteps:
      'Raise `DATABASE_CONNECTIONS_MAX` while the database has connections left; otherwise find slow statements in Postgres (`pg_stat_activity`).',
  },
  {
    name: 'ComponentIsNotReady',
    when: 'max by (component, check) ({aag.check.failing}) > 0',
    lasting: '1m',
    severity: 'page',
    summary: 'A replica of {{ $labels.component }} is not ready: {{ $labels.check }}.',
    firstSteps:
      'Ask the replica for `/health/ready` at its `HEALTH_PORT`: the answer says what fails. It takes no work meanwhile.',
  },
  {
    name: 'EventLoopIsBlocked',
    when: 'max by (instance) ({nodejs.eventloop.delay}{quantile="0.99"}) > 0.5',
    lasting: '5m',
    severity: 'ticket',
    summary: 'The process {{ $labels.instance }} answers late because it computes too much.',
    firstSteps:
      'Start another replica. If one caller causes it, *Activity* shows their large calls; lower their share or archive the agent.',
  },
];
