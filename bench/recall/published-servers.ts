/** A published MCP server that lists its tools over stdio without an account; its credentials are made up. */
export interface PublishedServer {
  /** Its name in a config. */
  readonly name: string
  readonly package: string
  readonly version: string
  /** Which of the package's commands to start, if it has several. */
  readonly bin?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** true: the package is a dependency of this project, so nothing is installed. */
  readonly isAtHand?: boolean
}

/** Servers under MIT, Apache-2.0 or ISC, in the versions that the queries were written for. */
export const PUBLISHED_SERVERS: readonly PublishedServer[] = [
  {
    name: 'files',
    package: '@modelcontextprotocol/server-filesystem',
    version: '2026.8.31',
    args: ['.'],
    isAtHand: true,
  },
  { name: 'memory', package: '@modelcontextprotocol/server-memory', version: '2026.8.31', isAtHand: true },
  {
    name: 'thinking',
    package: '@modelcontextprotocol/server-sequential-thinking',
    version: '2026.8.31',
    isAtHand: true,
  },
  { name: 'github', package: '@modelcontextprotocol/server-github', version: '2025.4.8' },
  {
    name: 'slack',
    package: '@modelcontextprotocol/server-slack',
    version: '2025.4.25',
    env: { SLACK_BOT_TOKEN: 'xoxb-none', SLACK_TEAM_ID: 'T0' },
  },
  {
    name: 'maps',
    package: '@modelcontextprotocol/server-google-maps',
    version: '0.6.2',
    env: { GOOGLE_MAPS_API_KEY: 'none' },
  },
  {
    name: 'notion',
    package: '@notionhq/notion-mcp-server',
    version: '2.5.2',
    env: { NOTION_TOKEN: 'none' },
  },
  {
    name: 'xero',
    package: '@xeroapi/xero-mcp-server',
    version: '0.0.17',
    env: { XERO_CLIENT_ID: 'none', XERO_CLIENT_SECRET: 'none' },
  },
  { name: 'airtable', package: 'airtable-mcp-server', version: '1.14.0', env: { AIRTABLE_API_KEY: 'none' } },
  { name: 'browser', package: '@playwright/mcp', version: '0.0.83' },
  {
    name: 'hubspot',
    package: '@hubspot/mcp-server',
    version: '0.4.0',
    env: { PRIVATE_APP_ACCESS_TOKEN: 'none' },
  },
  {
    name: 'trello',
    package: '@delorenj/mcp-server-trello',
    version: '1.8.1',
    env: { TRELLO_API_KEY: 'none', TRELLO_TOKEN: 'none' },
  },
  { name: 'git', package: '@cyanheads/git-mcp-server', version: '2.15.3' },
  {
    name: 'asana',
    package: '@roychri/mcp-server-asana',
    version: '1.8.0',
    env: { ASANA_ACCESS_TOKEN: 'none' },
  },
  { name: 'airbnb', package: '@openbnb/mcp-server-airbnb', version: '0.3.0' },
  { name: 'leetcode', package: '@jinzcdev/leetcode-mcp-server', version: '1.4.0' },
  {
    name: 'salesforce',
    package: '@tsmztech/mcp-server-salesforce',
    version: '0.0.6',
    env: { SALESFORCE_USERNAME: 'none', SALESFORCE_PASSWORD: 'none', SALESFORCE_TOKEN: 'none' },
  },
  { name: 'discord', package: 'mcp-discord', version: '1.3.4', env: { DISCORD_TOKEN: 'none' } },
  { name: 'resend', package: 'resend-mcp', version: '2.22.0', env: { RESEND_API_KEY: 're_none' } },
  {
    name: 'translate',
    package: '@translated/lara-mcp',
    version: '1.0.6',
    env: { LARA_ACCESS_KEY_ID: 'none', LARA_ACCESS_KEY_SECRET: 'none' },
  },
  { name: 'todoist', package: '@doist/todoist-mcp', version: '11.0.0', env: { TODOIST_API_KEY: 'none' } },
  { name: 'shortcut', package: '@shortcut/mcp', version: '0.25.0', env: { SHORTCUT_API_TOKEN: 'none' } },
  { name: 'discourse', package: '@discourse/mcp', version: '0.3.1' },
]
