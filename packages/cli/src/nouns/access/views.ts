/** `billing views`: the views of the console's lists that the operator saved. ADMIN-23 */
import { SavedViewService } from "../../../../../src/gen/proto/billing/admin/v1/saved_views_pb.ts";
import type { Noun } from "../../noun.ts";

const { method } = SavedViewService;

/** Lists, saves and deletes views. */
export const views: Noun = {
  name: "views",
  summary: "List, save and delete your views of lists in the console",
  verbs: [
    {
      name: "list",
      method: method.listSavedViews,
      summary: "List your views of an organisation, by name.",
      examples: ["views list"],
      columns: ["id", "page", "name", "search"],
    },
    {
      name: "save",
      method: method.saveView,
      summary: "Save the filters of a list under a name, in place of those that it had.",
      examples: ["views save --page invoices --name Drafts --search status=draft"],
      fields: {
        page: "the page of the list, as in its address",
        name: "the name",
        search: "the filters, as in the page's address behind the ?",
      },
    },
    {
      name: "delete",
      method: method.deleteView,
      summary: "Delete one of your views.",
      examples: ["views delete 0199a0b2-8888-7000-8000-000000000001"],
      places: ["id"],
    },
  ],
};
