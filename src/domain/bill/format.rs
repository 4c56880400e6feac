//! Which format a bill has, told by the names of its columns, and what each of its columns means.

use super::refusal::Refusal;

/// A format of bills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// FOCUS, in the lowest version that knows all its columns.
    Focus10,
    /// FOCUS 1.1.
    Focus11,
    /// FOCUS 1.2.
    Focus12,
    /// FOCUS 1.3.
    Focus13,
    /// AWS cost and usage report with names such as "lineItem/UnblendedCost".
    AwsLegacy,
    /// AWS cost and usage report with names such as "`line_item_unblended_cost`".
    AwsCur2,
    /// Azure cost export (enterprise agreement, actual or amortised).
    Azure,
    /// OCI cost report.
    Oci,
    /// Records of a provider's own interface, as JSON.
    NativeJson,
    /// Any other table.
    Plain,
}

impl Format {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Focus10 => "FOCUS 1.0",
            Self::Focus11 => "FOCUS 1.1",
            Self::Focus12 => "FOCUS 1.2",
            Self::Focus13 => "FOCUS 1.3",
            Self::AwsLegacy => "AWS CUR legacy",
            Self::AwsCur2 => "AWS CUR 2.0",
            Self::Azure => "Azure EA",
            Self::Oci => "OCI",
            Self::NativeJson => "native JSON",
            Self::Plain => "plain CSV",
        }
    }

    /// Whether it is a FOCUS bill.
    #[must_use]
    pub const fn is_focus(self) -> bool {
        matches!(self, Self::Focus10 | Self::Focus11 | Self::Focus12 | Self::Focus13)
    }
}

/// What a column means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// What is invoiced (cash).
    Billed,
    /// What the work cost, commitments spread (accrual).
    Effective,
    /// What it would cost at list prices.
    List,
    /// What it would cost at agreed prices, without commitments.
    Contracted,
    /// Currency of the amounts.
    Currency,
    /// Start of the charge, included.
    Start,
    /// End of the charge, not included.
    End,
    /// Start of the billing period, included.
    BillingStart,
    /// End of the billing period, not included.
    BillingEnd,
    /// Use, purchase, tax, credit, adjustment.
    ChargeCategory,
    /// Correction or none.
    ChargeClass,
    /// Once, recurring, by use.
    Frequency,
    /// Standard, dynamic, committed.
    PricingCategory,
    /// Quantity that the price is for.
    Quantity,
    /// Unit of that quantity.
    Unit,
    /// List price of a unit, or the only one.
    UnitPrice,
    /// Agreed price of a unit.
    ContractedUnitPrice,
    /// Quantity that was used.
    Consumed,
    /// Unit of the used quantity.
    ConsumedUnit,
    /// What is metered.
    Meter,
    /// Service.
    Service,
    /// Kind of service.
    ServiceCategory,
    /// Finer kind.
    Subcategory,
    /// Words about the charge.
    Description,
    /// Machine, volume, address.
    Resource,
    /// Labels of it, as JSON.
    Tags,
    /// Invoice.
    Invoice,
    /// Who sends the invoice.
    Issuer,
    /// Who provides the service.
    Provider,
    /// Commitment the row belongs to.
    Commitment,
    /// Used or unused part of the commitment.
    CommitmentStatus,
    /// Zone.
    Zone,
    /// The run it belongs to, where somebody wrote that into the bill.
    Run,
}

impl Role {
    /// Every role with its name in a mapping (`--map NAME=COLUMN`).
    pub const ALL: [(Self, &'static str); 33] = [
        (Self::Billed, "billed"),
        (Self::Effective, "effective"),
        (Self::List, "list"),
        (Self::Contracted, "contracted"),
        (Self::Currency, "currency"),
        (Self::Start, "start"),
        (Self::End, "end"),
        (Self::BillingStart, "billing_start"),
        (Self::BillingEnd, "billing_end"),
        (Self::ChargeCategory, "charge"),
        (Self::ChargeClass, "class"),
        (Self::Frequency, "frequency"),
        (Self::PricingCategory, "pricing"),
        (Self::Quantity, "quantity"),
        (Self::Unit, "unit"),
        (Self::UnitPrice, "unit_price"),
        (Self::ContractedUnitPrice, "contracted_unit_price"),
        (Self::Consumed, "consumed"),
        (Self::ConsumedUnit, "consumed_unit"),
        (Self::Meter, "meter"),
        (Self::Service, "service"),
        (Self::ServiceCategory, "category"),
        (Self::Subcategory, "subcategory"),
        (Self::Description, "description"),
        (Self::Resource, "resource"),
        (Self::Tags, "tags"),
        (Self::Invoice, "invoice"),
        (Self::Issuer, "issuer"),
        (Self::Provider, "provider"),
        (Self::Commitment, "commitment"),
        (Self::CommitmentStatus, "commitment_status"),
        (Self::Zone, "zone"),
        (Self::Run, "run"),
    ];

    /// Its position in `ALL`.
    pub(super) const fn idx(self) -> usize {
        self as usize
    }

    /// The role with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, other)| *other == name).map(|(role, _)| *role)
    }

    /// Whether its cells are numbers.
    #[must_use]
    pub const fn is_number(self) -> bool {
        self.is_cost() || matches!(self, Self::Quantity | Self::UnitPrice | Self::ContractedUnitPrice | Self::Consumed)
    }

    /// Whether its cells are amounts of money that add up.
    #[must_use]
    pub const fn is_cost(self) -> bool {
        matches!(self, Self::Billed | Self::Effective | Self::List | Self::Contracted)
    }
}

/// A name without case, blanks and marks: "lineItem/UnblendedCost" and "`line_item_unblended_cost`" are the same column.
#[must_use]
pub(super) fn bare(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Names of the columns of each format by role, in the order in which they are preferred.
type Names = &'static [(Role, &'static [&'static str])];

const FOCUS: Names = &[
    (Role::Billed, &["billedcost"]),
    (Role::Effective, &["effectivecost"]),
    (Role::List, &["listcost"]),
    (Role::Contracted, &["contractedcost"]),
    (Role::Currency, &["billingcurrency"]),
    (Role::Start, &["chargeperiodstart"]),
    (Role::End, &["chargeperiodend"]),
    (Role::BillingStart, &["billingperiodstart"]),
    (Role::BillingEnd, &["billingperiodend"]),
    (Role::ChargeCategory, &["chargecategory"]),
    (Role::ChargeClass, &["chargeclass"]),
    (Role::Frequency, &["chargefrequency"]),
    (Role::PricingCategory, &["pricingcategory"]),
    (Role::Quantity, &["pricingquantity"]),
    (Role::Unit, &["pricingunit"]),
    (Role::UnitPrice, &["listunitprice"]),
    (Role::ContractedUnitPrice, &["contractedunitprice"]),
    (Role::Consumed, &["consumedquantity"]),
    (Role::ConsumedUnit, &["consumedunit"]),
    (Role::Meter, &["skumeter"]),
    (Role::Service, &["servicename"]),
    (Role::ServiceCategory, &["servicecategory"]),
    (Role::Subcategory, &["servicesubcategory"]),
    (Role::Description, &["chargedescription"]),
    (Role::Resource, &["resourceid"]),
    (Role::Tags, &["tags"]),
    (Role::Invoice, &["invoiceid"]),
    (Role::Issuer, &["invoiceissuername"]),
    (Role::Provider, &["providername", "serviceprovidername"]),
    (Role::Commitment, &["commitmentdiscountid"]),
    (Role::CommitmentStatus, &["commitmentdiscountstatus"]),
    (Role::Zone, &["availabilityzone"]),
    (Role::Run, &["xrun"]),
];

const AWS: Names = &[
    (Role::Billed, &["lineitemunblendedcost"]),
    (Role::List, &["pricingpublicondemandcost"]),
    (Role::Currency, &["lineitemcurrencycode", "pricingcurrency"]),
    (Role::Start, &["lineitemusagestartdate"]),
    (Role::End, &["lineitemusageenddate"]),
    (Role::BillingStart, &["billbillingperiodstartdate"]),
    (Role::BillingEnd, &["billbillingperiodenddate"]),
    (Role::ChargeCategory, &["lineitemlineitemtype"]),
    (Role::PricingCategory, &["pricingterm"]),
    (Role::Quantity, &["lineitemusageamount"]),
    (Role::Unit, &["pricingunit"]),
    (Role::UnitPrice, &["lineitemunblendedrate"]),
    (Role::Meter, &["lineitemusagetype"]),
    (Role::Service, &["lineitemproductcode"]),
    (Role::Subcategory, &["productproductfamily", "productinstancetype"]),
    (Role::Description, &["lineitemlineitemdescription"]),
    (Role::Resource, &["lineitemresourceid"]),
    (Role::Tags, &["resourcetags"]),
    (Role::Invoice, &["billinvoiceid"]),
    (Role::Issuer, &["billbillingentity"]),
    (Role::Provider, &["lineitemlegalentity"]),
    (Role::Commitment, &["reservationreservationarn", "savingsplansavingsplanarn"]),
    (Role::Zone, &["lineitemavailabilityzone"]),
];

const AZURE: Names = &[
    (Role::Billed, &["costinbillingcurrency", "cost", "pretaxcost", "extendedcost"]),
    (Role::Currency, &["billingcurrencycode", "billingcurrency", "currency", "currencycode"]),
    (Role::Start, &["date", "usagedatetime", "usagedate"]),
    (Role::BillingStart, &["billingperiodstartdate"]),
    (Role::BillingEnd, &["billingperiodenddate"]),
    (Role::ChargeCategory, &["chargetype"]),
    (Role::Frequency, &["frequency"]),
    (Role::PricingCategory, &["pricingmodel"]),
    (Role::Quantity, &["quantity", "usagequantity", "consumedquantity"]),
    (Role::Unit, &["unitofmeasure"]),
    (Role::UnitPrice, &["effectiveprice", "resourcerate"]),
    (Role::Meter, &["metername"]),
    (Role::Service, &["metercategory"]),
    (Role::ServiceCategory, &["servicefamily"]),
    (Role::Subcategory, &["metersubcategory"]),
    (Role::Description, &["productname", "product"]),
    (Role::Resource, &["resourceid", "instanceid", "instancename"]),
    (Role::Tags, &["tags"]),
    (Role::Invoice, &["invoiceid"]),
    (Role::Issuer, &["publishername"]),
    (Role::Commitment, &["benefitid", "reservationid"]),
];

const OCI: Names = &[
    (Role::Billed, &["costmycost"]),
    (Role::Currency, &["costcurrencycode"]),
    (Role::Start, &["lineitemintervalusagestart"]),
    (Role::End, &["lineitemintervalusageend"]),
    (Role::ChargeClass, &["lineitemiscorrection"]),
    (Role::Quantity, &["usagebilledquantity"]),
    (Role::Unit, &["costbillingunitreadable", "costskuunitdescription"]),
    (Role::UnitPrice, &["costunitprice"]),
    (Role::Meter, &["productdescription"]),
    (Role::Service, &["productservice"]),
    (Role::Description, &["productdescription"]),
    (Role::Resource, &["productresourceid"]),
    (Role::Zone, &["productavailabilitydomain"]),
];

const JSON: Names = &[
    (Role::Billed, &["amount", "cost", "totalcost", "total"]),
    (Role::Currency, &["currency", "currencycode"]),
    (Role::Start, &["start", "starttime", "startedat", "time", "date"]),
    (Role::End, &["end", "endtime", "endedat"]),
    (Role::Quantity, &["quantity", "timebilledms"]),
    (Role::Unit, &["unit"]),
    (Role::UnitPrice, &["unitprice", "price", "rate"]),
    (Role::Meter, &["type", "gputypeid", "meter", "sku"]),
    (Role::Description, &["description", "name"]),
    (Role::Resource, &["podid", "source", "instanceid", "resourceid", "resource", "endpointid", "machineid"]),
    (Role::Tags, &["tags", "labels"]),
    (Role::Run, &["run"]),
];

const PLAIN: Names = &[
    (
        Role::Billed,
        &[
            "amount",
            "cost",
            "total",
            "totalcost",
            "totalamount",
            "charge",
            "charges",
            "netamount",
            "linetotal",
            "betrag",
            "金额",
            "费用",
        ],
    ),
    (Role::Currency, &["currency", "currencycode", "billingcurrency", "ccy", "währung", "币种"]),
    (Role::Start, &["start", "starttime", "startdate", "from", "periodstart", "date", "usagedate", "time"]),
    (Role::End, &["end", "endtime", "enddate", "to", "until", "periodend"]),
    (Role::ChargeCategory, &["chargecategory", "chargetype"]),
    (Role::Quantity, &["quantity", "qty", "usage", "hours", "menge", "数量"]),
    (Role::Unit, &["unit", "unitofmeasure", "einheit", "单位"]),
    (Role::UnitPrice, &["unitprice", "price", "rate", "preis", "单价"]),
    (Role::Meter, &["meter", "sku", "item", "product", "type"]),
    (Role::Service, &["service", "servicename"]),
    (Role::Description, &["description", "details", "text"]),
    (Role::Resource, &["resource", "resourceid", "instance", "instanceid", "machine", "host", "vm"]),
    (Role::Tags, &["tags", "labels"]),
    (Role::Invoice, &["invoice", "invoiceid", "invoicenumber"]),
    (Role::Run, &["run", "job"]),
];

/// The columns of FOCUS by the version that brought them.
const FOCUS_COLUMNS: [(&str, &[&str]); 4] = [
    (
        "1.0",
        &[
            "AvailabilityZone",
            "BilledCost",
            "BillingAccountId",
            "BillingAccountName",
            "BillingCurrency",
            "BillingPeriodEnd",
            "BillingPeriodStart",
            "ChargeCategory",
            "ChargeClass",
            "ChargeDescription",
            "ChargeFrequency",
            "ChargePeriodEnd",
            "ChargePeriodStart",
            "CommitmentDiscountCategory",
            "CommitmentDiscountId",
            "CommitmentDiscountName",
            "CommitmentDiscountStatus",
            "CommitmentDiscountType",
            "ConsumedQuantity",
            "ConsumedUnit",
            "ContractedCost",
            "ContractedUnitPrice",
            "EffectiveCost",
            "InvoiceIssuerName",
            "ListCost",
            "ListUnitPrice",
            "PricingCategory",
            "PricingQuantity",
            "PricingUnit",
            "ProviderName",
            "PublisherName",
            "RegionId",
            "RegionName",
            "ResourceId",
            "ResourceName",
            "ResourceType",
            "ServiceCategory",
            "ServiceName",
            "SkuId",
            "SkuPriceId",
            "SubAccountId",
            "SubAccountName",
            "Tags",
        ],
    ),
    (
        "1.1",
        &[
            "CapacityReservationId",
            "CapacityReservationStatus",
            "CommitmentDiscountQuantity",
            "CommitmentDiscountUnit",
            "ServiceSubcategory",
            "SkuMeter",
            "SkuPriceDetails",
        ],
    ),
    (
        "1.2",
        &[
            "InvoiceId",
            "BillingAccountType",
            "SubAccountType",
            "PricingCurrency",
            "PricingCurrencyContractedUnitPrice",
            "PricingCurrencyEffectiveCost",
            "PricingCurrencyListUnitPrice",
        ],
    ),
    (
        "1.3",
        &[
            "ServiceProviderName",
            "HostProviderName",
            "AllocatedMethodId",
            "AllocatedMethodDetails",
            "AllocatedResourceId",
            "AllocatedResourceName",
            "AllocatedTags",
            "ContractApplied",
        ],
    ),
];

/// Columns that every FOCUS bill of version 1.2 must have.
pub(super) const FOCUS_MANDATORY: [&str; 21] = [
    "BilledCost",
    "EffectiveCost",
    "ListCost",
    "ContractedCost",
    "BillingAccountId",
    "BillingAccountName",
    "BillingCurrency",
    "BillingPeriodStart",
    "BillingPeriodEnd",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargePeriodStart",
    "ChargePeriodEnd",
    "InvoiceIssuerName",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "PublisherName",
    "ServiceCategory",
    "ServiceName",
];

/// The spelling of a FOCUS column that has this name but for case and marks.
#[must_use]
pub(super) fn focus_spelling(name: &str) -> Option<&'static str> {
    let name = bare(name);
    FOCUS_COLUMNS.iter().flat_map(|(_, columns)| columns.iter().copied()).find(|column| column.to_lowercase() == name)
}

/// Columns of FOCUS that hold names: a number in one of them means that columns are misplaced.
pub(super) const FOCUS_NAMES: [&str; 15] = [
    "availabilityzone",
    "regionid",
    "regionname",
    "servicename",
    "servicecategory",
    "servicesubcategory",
    "providername",
    "publishername",
    "invoiceissuername",
    "chargecategory",
    "chargefrequency",
    "resourcetype",
    "pricingunit",
    "consumedunit",
    "billingcurrency",
];

/// Values that FOCUS allows in a column; empty for columns with free values.
#[must_use]
pub(super) fn focus_values(role: Role) -> &'static [&'static str] {
    match role {
        Role::ServiceCategory => &[
            "AI and Machine Learning",
            "Analytics",
            "Business Applications",
            "Compute",
            "Databases",
            "Developer Tools",
            "Multicloud",
            "Identity",
            "Integration",
            "Internet of Things",
            "Management and Governance",
            "Media",
            "Migration",
            "Mobile",
            "Networking",
            "Security",
            "Storage",
            "Web",
            "Other",
        ],
        Role::ChargeCategory => &["Usage", "Purchase", "Tax", "Credit", "Adjustment"],
        Role::ChargeClass => &["Correction"],
        Role::Frequency => &["One-Time", "Recurring", "Usage-Based"],
        Role::PricingCategory => &["Standard", "Dynamic", "Committed", "Other"],
        Role::CommitmentStatus => &["Used", "Unused"],
        _ => &[],
    }
}

/// The columns of a bill and what they mean.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    /// The format they are of.
    pub(super) format: Format,
    /// Their names as the file has them.
    pub(super) names: Vec<String>,
    /// The column of each role, in the order of `Role::ALL`.
    roles: Vec<Option<usize>>,
    /// Columns whose cells are added up.
    pub(super) sums: Vec<usize>,
}

/// What a person says about columns.
#[derive(Debug, Clone, Default)]
pub(super) struct Said<'a> {
    pub(super) map: &'a [(Role, String)],
    pub(super) sum: &'a [String],
}

impl Columns {
    /// Finds format and meaning.
    ///
    /// # Errors
    /// `Refusal` where a mapped column is not there, or no column holds amounts.
    pub(super) fn of(names: Vec<String>, is_json: bool, said: &Said<'_>) -> Result<Self, Refusal> {
        let bare_names: Vec<String> = names.iter().map(|name| bare(name)).collect();
        let format = if is_json { json_format(&bare_names) } else { format_of(&names, &bare_names) };
        let known = match format {
            Format::AwsLegacy | Format::AwsCur2 => AWS,
            Format::Azure => AZURE,
            Format::Oci => OCI,
            Format::NativeJson => JSON,
            Format::Plain => PLAIN,
            Format::Focus10 | Format::Focus11 | Format::Focus12 | Format::Focus13 => FOCUS,
        };
        let position = |wanted: &str| bare_names.iter().position(|name| name == wanted);
        let mut roles: Vec<Option<usize>> = Role::ALL
            .iter()
            .map(|(role, _)| {
                let known = known.iter().find(|(other, _)| other == role);
                known.and_then(|(_, names)| names.iter().find_map(|name| position(name)))
            })
            .collect();
        let mut columns = Self { format, names, roles: Vec::new(), sums: Vec::new() };
        let mut mapped = Vec::new();
        for (role, name) in said.map {
            let at = columns.find(name).ok_or_else(|| Refusal::ColumnUnknown(name.clone(), columns.names.clone()))?;
            if let Some(place) = roles.get_mut(role.idx()) {
                *place = Some(at);
            }
            if role.is_cost() {
                mapped.push(at);
            }
        }
        columns.roles = roles;
        let mut sums: Vec<usize> =
            bare_names.iter().enumerate().filter(|(_, name)| is_amount(format, name)).map(|(idx, _)| idx).collect();
        if format == Format::Plain && !mapped.is_empty() {
            sums.clear();
        }
        sums.extend(mapped);
        for name in said.sum {
            sums.push(columns.find(name).ok_or_else(|| Refusal::ColumnUnknown(name.clone(), columns.names.clone()))?);
        }
        sums.sort_unstable();
        sums.dedup();
        columns.sums = sums;
        Ok(columns)
    }

    /// The position of a column, by its name or by the name without case and marks.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|other| other == name).or_else(|| {
            let name = bare(name);
            self.names.iter().position(|other| bare(other) == name)
        })
    }

    /// The column of a role.
    pub(super) fn of_role(&self, role: Role) -> Option<usize> {
        self.roles.get(role.idx()).copied().flatten()
    }

    /// A column's name.
    pub(super) fn name(&self, idx: usize) -> &str {
        self.names.get(idx).map_or("", String::as_str)
    }
}

/// Whether cells of a column are amounts that add up, by its bare name.
fn is_amount(format: Format, name: &str) -> bool {
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    match format {
        Format::Focus10 | Format::Focus11 | Format::Focus12 | Format::Focus13 => ends(&["cost"]),
        Format::AwsLegacy | Format::AwsCur2 => {
            (name.contains("cost") && !name.contains("costcategory") && !name.contains("costcategories"))
                || ends(&["recurringfee", "upfrontvalue", "upfrontfee", "totaldiscount"])
        }
        Format::Azure => {
            ends(&["cost", "costinbillingcurrency", "costinusd", "costinpricingcurrency"]) && !name.contains("center")
        }
        Format::Oci => ends(&["mycost", "mycostoverage", "attributedcost"]),
        Format::NativeJson => {
            ends(&["amount", "cost", "charge", "charges"]) || (name.contains("billed") && !name.contains("space"))
        }
        Format::Plain => {
            ends(&["amount", "cost", "costs", "charge", "charges", "total", "betrag", "金额", "费用"])
                || name.starts_with("cost") && !name.starts_with("costcenter") && name.len() < 12
        }
    }
}

fn json_format(names: &[String]) -> Format {
    if is_focus(names) { focus_version(names) } else { Format::NativeJson }
}

fn is_focus(names: &[String]) -> bool {
    let has = |name: &str| names.iter().any(|other| other == name);
    let n_known = FOCUS.iter().flat_map(|(_, names)| names.iter()).filter(|name| has(name)).count();
    (has("billedcost") || has("effectivecost")) && n_known >= 4
}

fn focus_version(names: &[String]) -> Format {
    let has_any = |version: &str| {
        FOCUS_COLUMNS
            .iter()
            .filter(|(other, _)| *other == version)
            .flat_map(|(_, columns)| columns.iter())
            .any(|column| names.iter().any(|name| *name == column.to_lowercase()))
    };
    match () {
        () if has_any("1.3") => Format::Focus13,
        () if has_any("1.2") => Format::Focus12,
        () if has_any("1.1") => Format::Focus11,
        () => Format::Focus10,
    }
}

fn format_of(names: &[String], bare_names: &[String]) -> Format {
    let has = |name: &str| bare_names.iter().any(|other| other == name);
    if is_focus(bare_names) {
        focus_version(bare_names)
    } else if has("costmycost") || has("lineitemintervalusagestart") {
        Format::Oci
    } else if has("lineitemunblendedcost") || (has("lineitemlineitemtype") && has("lineitemusageamount")) {
        if names.iter().any(|name| name.contains('/')) { Format::AwsLegacy } else { Format::AwsCur2 }
    } else if has("costinbillingcurrency")
        || (has("metercategory") && (has("cost") || has("pretaxcost") || has("extendedcost") || has("unitofmeasure")))
    {
        Format::Azure
    } else {
        Format::Plain
    }
}

/// What separates cells: the mark that the first line holds most of.
#[must_use]
pub(super) fn delimiter(head: &[u8]) -> u8 {
    let mut counts = [(b',', 0_usize), (b';', 0), (b'\t', 0), (b'|', 0)];
    let mut quoted = false;
    for byte in head.iter().skip_while(|byte| byte.is_ascii_whitespace()) {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted => break,
            byte if !quoted => {
                if let Some((_, n)) = counts.iter_mut().find(|(mark, _)| mark == byte) {
                    *n += 1;
                }
            }
            _ => {}
        }
    }
    // Of equals, the earlier one.
    counts.into_iter().rev().max_by_key(|(_, n)| *n).map_or(b',', |(mark, _)| mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(header: &str) -> Columns {
        let names = header.split(',').map(str::to_owned).collect();
        Columns::of(names, false, &Said::default()).unwrap()
    }

    #[test]
    fn roles_stand_in_the_order_of_their_list() {
        for (idx, (role, name)) in Role::ALL.into_iter().enumerate() {
            assert_eq!((role.idx(), Role::named(name)), (idx, Some(role)));
        }
    }

    #[test]
    fn a_format_is_told_by_its_columns() {
        for (header, want, sums) in [
            ("BilledCost,EffectiveCost,ChargeCategory,ChargePeriodStart", "FOCUS 1.0", "BilledCost,EffectiveCost"),
            ("billed_cost,effective_cost,charge_category,sku_meter", "FOCUS 1.1", "billed_cost,effective_cost"),
            ("BilledCost,ChargeCategory,ChargeClass,InvoiceId", "FOCUS 1.2", "BilledCost"),
            (
                "BilledCost,ChargeCategory,ChargeClass,ServiceProviderName,x_AmortizedCost",
                "FOCUS 1.3",
                "BilledCost,x_AmortizedCost",
            ),
            (
                "lineItem/UsageAmount,lineItem/UnblendedCost,costCategory/team",
                "AWS CUR legacy",
                "lineItem/UnblendedCost",
            ),
            ("line_item_usage_amount,line_item_unblended_cost", "AWS CUR 2.0", "line_item_unblended_cost"),
            (
                "Date,MeterCategory,Quantity,EffectivePrice,CostInBillingCurrency,CostCenter",
                "Azure EA",
                "CostInBillingCurrency",
            ),
            ("lineItem/intervalUsageStart,cost/myCost,cost/unitPrice", "OCI", "cost/myCost"),
            ("Day,Machine,Total", "plain CSV", "Total"),
        ] {
            let got = columns(header);
            let names: Vec<&str> = got.sums.iter().map(|idx| got.name(*idx)).collect();
            assert_eq!((got.format.name(), names.join(",")), (want, sums.to_owned()), "{header}");
        }
    }

    #[test]
    fn a_person_says_what_a_plain_column_means() {
        let names = || "Posten,Preis total,Was".split(',').map(str::to_owned).collect::<Vec<_>>();
        let map = [(Role::Billed, "Preis total".to_owned()), (Role::Meter, "Was".to_owned())];
        let got = Columns::of(names(), false, &Said { map: &map, sum: &[] }).unwrap();
        assert_eq!((got.of_role(Role::Billed), got.of_role(Role::Meter), got.sums), (Some(1), Some(2), vec![1]));
        let map = [(Role::Billed, "Summe".to_owned())];
        let refused = Columns::of(names(), false, &Said { map: &map, sum: &[] });
        assert_eq!(refused.unwrap_err(), Refusal::ColumnUnknown("Summe".to_owned(), names()));
    }

    #[test]
    fn the_mark_between_cells_is_what_the_first_line_holds_most_of() {
        for (text, want) in
            [("a,b\n1;2;3", b','), ("a;b;c\n1,5;2;3", b';'), ("a\tb\n", b'\t'), ("\"a,b,c\";d\n", b';'), ("a\n", b',')]
        {
            assert_eq!(delimiter(text.as_bytes()), want, "{text}");
        }
    }
}
