/**
 * One full call of every action that changes something, by `template action`: it gives every
 * parameter, and a test checks that whoever approves it is shown every value in it.
 */
export const exampleCalls: Record<string, Record<string, unknown>> = {
  'github create_issue': {
    repository: 'acme/site',
    title: 'Crash on start',
    body: 'Happens with version 2.',
    assignees: ['octocat'],
    labels: ['bug', 'urgent'],
    milestone: 41,
  },
  'github update_issue': {
    repository: 'acme/site',
    issue_number: 1347,
    title: 'Crash',
    body: 'New text.',
    state: 'closed',
    state_reason: 'not_planned',
    labels: ['wontfix'],
    assignees: ['hubot'],
    milestone: 7,
  },
  'github create_comment': { repository: 'acme/site', issue_number: 1347, body: 'Fixed.' },
  'github merge_pull_request': {
    repository: 'acme/site',
    pull_number: 77,
    commit_title: 'Add search',
    commit_message: 'Finally.',
    sha: '6dcb09b5b57875f334f61aebed695e2e4193db5e',
    merge_method: 'squash',
  },
  'github delete_label': { repository: 'acme/site', name: 'obsolete' },

  'gitlab create_issue': {
    project: 'acme/web/site',
    title: 'Crash on start',
    description: 'Happens with version 2.',
    labels: 'bug,urgent',
    assignee_ids: [1234],
    milestone_id: 5678,
    due_date: '2026-01-31',
    confidential: true,
  },
  'gitlab update_issue': {
    project: 'acme/site',
    issue_iid: 12,
    title: 'Crash',
    description: 'New text.',
    state_event: 'close',
    add_labels: 'later',
    remove_labels: 'urgent',
    assignee_ids: [1234],
    due_date: '2026-02-28',
  },
  'gitlab comment_on_issue': {
    project: 'acme/site',
    issue_iid: 12,
    body: 'Fixed.',
    internal: true,
  },
  'gitlab create_merge_request': {
    project: 'acme/site',
    source_branch: 'search',
    target_branch: 'main',
    title: 'Add search',
    description: 'Finally.',
    labels: 'feature',
    reviewer_ids: [99],
    remove_source_branch: true,
  },
  'gitlab comment_on_merge_request': {
    project: 'acme/site',
    merge_request_iid: 5,
    body: 'Nice.',
    internal: false,
  },
  'gitlab merge_merge_request': {
    project: 'acme/site',
    merge_request_iid: 5,
    sha: '6dcb09b5b57875f334f61aebed695e2e4193db5e',
    squash: true,
    should_remove_source_branch: true,
    merge_commit_message: 'Merge search',
  },
  'gitlab delete_branch': { project: 'acme/site', branch: 'feature/search' },

  'jira create_issue': {
    fields: {
      project: { key: 'SITE' },
      issuetype: { name: 'Bug' },
      summary: 'Crash on start',
      description: 'Happens with version 2.',
      labels: ['urgent'],
      priority: { name: 'High' },
      assignee: { accountId: '5b10a2844c20165700ede21g' },
      parent: { key: 'SITE-1' },
      customfield_10010: 'Berlin',
    },
  },
  'jira update_issue': {
    issue_key: 'SITE-12',
    notifyUsers: false,
    fields: { summary: 'Crash', labels: ['later'] },
  },
  'jira delete_issue': { issue_key: 'SITE-12', deleteSubtasks: true },
  'jira assign_issue': { issue_key: 'SITE-12', accountId: '5b10a2844c20165700ede21g' },
  'jira transition_issue': {
    issue_key: 'SITE-12',
    transition: { id: '31' },
    fields: { resolution: { name: 'Done' } },
  },
  'jira add_comment': {
    issue_key: 'SITE-12',
    body: 'Fixed.',
    visibility: { type: 'role', value: 'Administrators' },
  },

  'notion create_page': {
    parent: { page_id: '0197e2b4-1234-4000-8000-000000000001' },
    properties: { title: [{ text: { content: 'Minutes' } }] },
    children: [{ paragraph: { rich_text: [{ text: { content: 'Ann was late.' } }] } }],
  },
  'notion update_page': {
    page_id: '0197e2b4-1234-4000-8000-000000000001',
    properties: { Status: { status: { name: 'Done' } } },
  },
  'notion delete_block': { block_id: '0197e2b4-1234-4000-8000-000000000001' },
  'notion append_blocks': {
    block_id: '0197e2b4-1234-4000-8000-000000000001',
    children: [{ type: 'paragraph', paragraph: { rich_text: [{ text: { content: 'More.' } }] } }],
    after: '0197e2b4-1234-4000-8000-000000000002',
  },
  'notion create_comment': {
    parent: { page_id: '0197e2b4-1234-4000-8000-000000000001' },
    rich_text: [{ text: { content: 'Well done.' } }],
  },

  'sendgrid send_email': {
    personalizations: [
      {
        to: [{ email: 'ann@example.com', name: 'Ann' }],
        cc: [{ email: 'bob@example.com' }],
        bcc: [{ email: 'eve@example.com' }],
        subject: 'For you',
        dynamic_template_data: { code: 'X7' },
      },
    ],
    from: { email: 'shop@example.com', name: 'Shop' },
    reply_to: { email: 'help@example.com' },
    subject: 'Your order',
    content: [
      { type: 'text/plain', value: 'It is on its way.' },
      { type: 'text/html', value: '<p>It is on its way.</p>' },
    ],
    template_id: 'd-123',
    attachments: [{ content: 'QUJD', filename: 'bill.pdf', type: 'application/pdf' }],
    send_at: 1_767_225_600,
    categories: ['orders'],
  },
  'sendgrid delete_bounce': { email: 'ann@example.com' },
  'sendgrid add_unsubscribes': { recipient_emails: ['ann@example.com', 'bob@example.com'] },
  'sendgrid upsert_contacts': {
    contacts: [{ email: 'ann@example.com', first_name: 'Ann' }],
    list_ids: ['3e1b0f52-aaaa-4000-8000-000000000001'],
  },
};
