import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Tool, ToolRegistry } from '../../packages/core/src/index.ts'

/** Where tau2-bench's retail domain is: db.json and tasks.json (MIT, Sierra Research). */
const DATA = process.env.TAU2_RETAIL ?? '/work/shared/data/tau2-retail'

export interface Call {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
}

interface Item {
  item_id: string
  product_id: string
  price: number
  options: unknown
}
interface Order {
  status: string
  address: unknown
  items: Item[]
  payment_history: unknown[]
  [key: string]: unknown
}
interface User {
  user_id: string
  name: { first_name: string; last_name: string }
  address: { zip: string }
  email: string
}
interface Database {
  products: Record<string, { name: string; product_id: string; variants: Record<string, Item> }>
  users: Record<string, User>
  orders: Record<string, Order>
}

/** Tasks of five calls or more, of which at least one writes; undefined where the data is missing. */
export function retailTasks(count: number): readonly (readonly Call[])[] | undefined {
  if (!existsSync(join(DATA, 'tasks.json'))) return undefined
  const tasks: { evaluation_criteria: { actions: Call[] } }[] = read('tasks.json')
  const known = (call: Call) => call.name in TOOLS
  return tasks
    .map(({ evaluation_criteria: { actions } }) => actions)
    .filter((calls) => calls.length >= 5 && calls.every(known) && calls.some(({ name }) => !isRead(name)))
    .slice(0, count)
}

/** Registers the domain's tools over a database of their own, as a server `retail`. Returns the database. */
export function registerRetail(registry: ToolRegistry): Database {
  const db: Database = read('db.json')
  const tools = Object.entries(TOOLS).map(
    ([name, execute]): Tool => ({
      ...{ name, description: `${name.replaceAll('_', ' ')}.`, annotations: { readOnlyHint: isRead(name) } },
      inputSchema: { type: 'object' },
      execute: (args) => JSON.stringify(execute(db, args as never)),
    }),
  )
  registry.syncMcp('retail', tools)
  return db
}

export function isRead(name: string): boolean {
  return /^(find|get|list)_/.test(name)
}

function read(file: string) {
  return JSON.parse(readFileSync(join(DATA, file), 'utf8'))
}

interface Change {
  readonly order_id: string
  readonly item_ids: readonly string[]
  readonly new_item_ids: readonly string[]
  readonly payment_method_id: string
}
type Address = Record<'address1' | 'address2' | 'city' | 'state' | 'country' | 'zip', string>

/** Our own port: it keeps the states that matter, to be compared with itself only. */
const TOOLS: Readonly<Record<string, (db: Database, args: never) => unknown>> = {
  find_user_id_by_email: ({ users }, { email }: User) =>
    found(Object.values(users).find((user) => user.email === email)).user_id,
  find_user_id_by_name_zip: ({ users }, args: { first_name: string; last_name: string; zip: string }) =>
    found(
      Object.values(users).find(
        ({ name, address }) =>
          name.first_name === args.first_name &&
          name.last_name === args.last_name &&
          address.zip === args.zip,
      ),
    ).user_id,
  get_order_details: ({ orders }, { order_id }: Change) => found(orders[order_id]),
  get_product_details: ({ products }, { product_id }: Item) => found(products[product_id]),
  get_item_details: (db, { item_id }: Item) => variant(db, item_id),
  get_user_details: ({ users }, { user_id }: User) => found(users[user_id]),
  list_all_product_types: ({ products }) =>
    Object.fromEntries(Object.values(products).map(({ name, product_id }) => [name, product_id])),
  cancel_pending_order(db, { order_id, reason }: Change & { reason: string }) {
    return change(db, order_id, 'pending', { status: 'cancelled', cancel_reason: reason })
  },
  modify_pending_order_address(db, { order_id, ...address }: Change & Address) {
    return change(db, order_id, 'pending', { address })
  },
  modify_pending_order_payment(db, { order_id, payment_method_id }: Change) {
    const { payment_history } = found(db.orders[order_id])
    return change(db, order_id, 'pending', {
      payment_history: [...payment_history, { payment_method_id }],
    })
  },
  modify_pending_order_items(db, { order_id, item_ids, new_item_ids, payment_method_id }: Change) {
    const { items } = found(db.orders[order_id])
    const next = items.map((item) => {
      const at = item_ids.indexOf(item.item_id)
      return at < 0 ? item : { ...item, ...variant(db, new_item_ids[at] ?? '') }
    })
    return change(db, order_id, 'pending', {
      ...{ status: 'pending (item modified)', items: next, payment_method_id },
    })
  },
  modify_user_address({ users }, { user_id, ...address }: User & Address) {
    return Object.assign(found(users[user_id]), { address })
  },
  exchange_delivered_order_items: (db, { order_id, ...exchange }: Change) =>
    change(db, order_id, 'delivered', { status: 'exchange requested', exchange }),
  return_delivered_order_items: (db, { order_id, ...returned }: Change) =>
    change(db, order_id, 'delivered', { status: 'return requested', returned }),
}

function change({ orders }: Database, id: string, status: string, changes: Partial<Order>): Order {
  const order = found(orders[id])
  if (!order.status.startsWith(status)) throw new Error(`the order is ${order.status}`)
  return Object.assign(order, changes)
}

function variant({ products }: Database, id: string): Item {
  return found(Object.values(products).find(({ variants }) => id in variants)?.variants[id])
}

function found<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('not found')
  return value
}
