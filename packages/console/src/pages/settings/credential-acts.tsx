/** Creates and revokes keys, operators, tokens and sessions. Values are shown once. */
import { useOrganisation } from "../../data/organisation.tsx";
import { Act } from "../../forms/act.tsx";
import { type Field, isTicked, textOf } from "../../forms/fields.tsx";
import styles from "../../forms/forms.module.css";
import { Secret } from "../../forms/secret.tsx";
import {
  type ApiKey,
  ApiKeyService,
  CredentialStatus,
} from "../../gen/billing/admin/v1/api_keys_pb.ts";
import {
  type Operator,
  OperatorRole,
  OperatorService,
  type OperatorToken,
} from "../../gen/billing/admin/v1/operators_pb.ts";
import { SessionService } from "../../gen/billing/admin/v1/sessions_pb.ts";
import { operatorRoles } from "../../words/states.ts";

/** What a key can be for. */
const scopes = [
  ["customers:read", "read customers"],
  ["customers:write", "create customers"],
  ["catalogue:read", "read plans and charges"],
  ["subscriptions:read", "read subscriptions"],
  ["subscriptions:write", "create, change and end subscriptions"],
  ["invoices:read", "read invoices"],
  ["credit_notes:read", "read credit notes"],
  ["usage:write", "report usage"],
] as const;

const expiry: Field = {
  name: "expires_at",
  label: "Last day",
  kind: "day",
  about: "It works without end if left out.",
  isOptional: true,
};

/** The end of the day in UTC, or undefined. */
const endOf = (day: string | undefined) => day && `${day}T23:59:59Z`;

/** A value, or why there is none: a lost answer is not repeated with it. */
function ValueOf({ value, what }: { readonly value: string; readonly what: string }) {
  return value === "" ? (
    <p>It was made before, in an answer that was lost. Revoke it and make another.</p>
  ) : (
    <Secret text={value} what={what} />
  );
}

/** Creates a key. */
export function CreateApiKey() {
  const { id: organisation } = useOrganisation();
  const method = ApiKeyService.method;
  return (
    <Act
      label="New key"
      title="New API key"
      method={method.createApiKey}
      isPrimary
      fields={[
        { name: "name", label: "Name", about: "What uses it, such as: shop, production." },
        expiry,
        ...scopes.map(
          ([scope, words]): Field => ({
            name: scope,
            label: `It may ${words}`,
            kind: "box",
            initial: "yes",
          }),
        ),
      ]}
      request={(values) => {
        const wanted = scopes.map(([scope]) => scope).filter((scope) => isTicked(values, scope));
        return wanted.length === 0
          ? null
          : {
              organisation,
              name: values.name ?? "",
              scopes: wanted,
              expiresAt: endOf(textOf(values, "expires_at")),
            };
      }}
      effect="Create the key"
      done="The key was created"
      result={({ value }) => <ValueOf value={value} what="key" />}
    />
  );
}

/** Revokes a key. */
export function RevokeApiKey({ apiKey: { id, name, status } }: { readonly apiKey: ApiKey }) {
  const { id: organisation } = useOrganisation();
  if (status !== CredentialStatus.ACTIVE) return null;
  return (
    <Act
      isInRow
      label="Revoke"
      title={`Revoke ${name}`}
      method={ApiKeyService.method.revokeApiKey}
      isDangerous
      request={() => ({ organisation, id })}
      effect="Revoke the key"
      about="Whatever uses it is refused from then on. It cannot be brought back."
      done="The key was revoked"
    />
  );
}

const roles: Field["choices"] = [
  OperatorRole.READ_ONLY,
  OperatorRole.ADMIN,
  OperatorRole.OWNER,
].map((role) => [String(role), operatorRoles[role] ?? ""]);

const operatorFields = (operator?: Operator): Field[] => [
  { name: "name", label: "Name", initial: operator?.name },
  {
    name: "role",
    label: "Role",
    initial: operator && String(operator.role),
    about: "An admin changes what is billed. An owner also connects ledgers and makes operators.",
    choices: roles,
  },
];

/** Creates an operator. */
export function CreateOperator() {
  return (
    <Act
      label="New operator"
      title="New operator"
      method={OperatorService.method.createOperator}
      isOwners
      isPrimary
      fields={operatorFields()}
      request={({ name = "", role }) => ({ name, role: Number(role) as OperatorRole })}
      effect="Create the operator"
      about="A person or a program. It signs in with a token, which is made afterwards."
      done="The operator was created"
    />
  );
}

/** Changes an operator, and makes tokens. */
export function OperatorActs({ operator }: { readonly operator: Operator }) {
  const { id, name, active } = operator;
  const method = OperatorService.method;
  return (
    <div className={styles.inRow}>
      {active && (
        <Act
          isInRow
          label="New token"
          title={`New token for ${name}`}
          method={method.createOperatorToken}
          isOwners
          fields={[
            { name: "name", label: "Name", about: "Where it is used, such as: laptop." },
            expiry,
          ]}
          request={(values) => ({
            operator: id,
            name: values.name ?? "",
            expiresAt: endOf(textOf(values, "expires_at")),
          })}
          effect="Create the token"
          done="The token was created"
          result={({ value }) => <ValueOf value={value} what="token" />}
        />
      )}
      <Act
        isInRow
        label="Edit"
        title={`Edit ${name}`}
        method={method.updateOperator}
        isOwners
        fields={[
          ...operatorFields(operator),
          {
            name: "active",
            label: "Active",
            kind: "box",
            about: "The tokens and sessions of an inactive operator do not work.",
            initial: active ? "yes" : "",
          },
        ]}
        request={(values) => ({
          id,
          name: values.name,
          role: Number(values.role) as OperatorRole,
          active: isTicked(values, "active"),
        })}
        effect="Save"
        done={`${name} was saved`}
      />
    </div>
  );
}

/** Revokes a token. */
export function RevokeToken({ token: { id, name, status } }: { readonly token: OperatorToken }) {
  if (status !== CredentialStatus.ACTIVE) return null;
  return (
    <Act
      isInRow
      label="Revoke"
      title={`Revoke ${name}`}
      method={OperatorService.method.revokeOperatorToken}
      isDangerous
      isOwners
      request={() => ({ id })}
      effect="Revoke the token"
      about="Sessions that began with it end at once. It cannot be brought back."
      done="The token was revoked"
    />
  );
}

/** Ends a session of this operator. */
export function EndSession({ id }: { readonly id: string }) {
  return (
    <Act
      isInRow
      label="End"
      title="End the session"
      method={SessionService.method.endSession}
      isReaders
      request={() => ({ id })}
      effect="End the session"
      about="That browser is signed out."
      done="The session was ended"
    />
  );
}

/** Ends all sessions of this operator, this one too. */
export function EndAllSessions() {
  return (
    <Act
      label="End all"
      title="End all sessions"
      method={SessionService.method.endAllSessions}
      isReaders
      isDangerous
      request={() => ({})}
      effect="End all of them"
      about="All browsers are signed out, and so is this one."
      done="All sessions were ended"
    />
  );
}
