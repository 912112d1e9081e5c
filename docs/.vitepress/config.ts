import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitepress'
import { slugOf, titleOf } from '../../scripts/docs/links.ts'

const docs = join(import.meta.dirname, '..')

function page(path: string, text: string = titleOf(readFileSync(join(docs, path), 'utf8'))) {
  return { text, link: `/${path.replace(/(index)?\.md$/, '')}` }
}

function folder(name: string) {
  return readdirSync(join(docs, name))
    .filter((file) => file.endsWith('.md') && file !== 'index.md')
    .sort()
    .map((file) => page(`${name}/${file}`))
}

const GUIDES = [
  'first-agent',
  'many-servers',
  'team-gateway',
  'sub-agents',
  'lasting-sessions',
  'guarding-tools',
  'measuring-search',
  'costs',
  'security-model',
  'troubleshooting',
]
const TOPICS = [
  'registry',
  'choosing',
  'search',
  'running-calls',
  'capabilities',
  'builtin-tools',
  'stores',
  'dialects',
  'agent',
  'mcp-servers',
  'safety',
  'clients',
]
const DOORS = ['command-line', 'gateway', 'inspector', 'scaling']

export default defineConfig({
  title: 'Toolcrib',
  description: 'One registry for every tool an agent may use, and a search that finds the right one.',
  lang: 'en',
  cleanUrls: true,
  // Pages also link to files of the repository, as readers on GitHub need; `npm run docs -- check` checks all links.
  ignoreDeadLinks: true,
  // The same anchors as on GitHub.
  markdown: { anchor: { slugify: slugOf } },
  // Names of commands and types are not components.
  vue: { template: { compilerOptions: { isCustomElement: () => true } } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Guides', link: '/guides/first-agent' },
      { text: 'Reference', link: '/reference/' },
      { text: 'Coming from …', link: '/coming-from' },
    ],
    sidebar: [
      { text: 'Guides', items: GUIDES.map((name) => page(`guides/${name}.md`)) },
      { text: 'In depth', items: TOPICS.map((name) => page(`${name}.md`)) },
      { text: 'Doors', items: DOORS.map((name) => page(`${name}.md`)) },
      { text: 'Coming from …', items: [page('coming-from.md'), page('non-goals.md')] },
      { text: 'Reference', collapsed: true, items: [page('reference/index.md'), ...folder('reference')] },
      { text: 'Decisions', collapsed: true, items: folder('decisions') },
    ],
  },
})
